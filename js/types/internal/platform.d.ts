/**
 * Types that not every project has, because they are of a page, a worker or Node, or of a newer TypeScript. Where the
 * project lacks one it is left out, so the package's types compile in all of them, from TypeScript 5.0 on.
 */

/** The type of the global class of that name; never where the project has none. */
export type Known<Name extends string> = typeof globalThis extends {
  readonly [K in Name]: { readonly prototype: infer T };
}
  ? T
  : never;

export type AbortSignal = Known<'AbortSignal'>;
export type Blob = Known<'Blob'>;
export type Response = Known<'Response'>;
export type URL = Known<'URL'>;

/** Bytes with a buffer of their own: `Uint8Array<ArrayBuffer>` from TypeScript 5.7 on, before that `Uint8Array`. */
export type Bytes = ReturnType<typeof Uint8Array.of>;

/** Lets `await using` end it, where the project has `lib: ['esnext.disposable']` (TypeScript 5.2). */
export type AsyncDisposed = {
  [K in SymbolConstructor['asyncDispose' & keyof SymbolConstructor] & symbol]: () => Promise<void>;
};
