/**
 * Holds the code to the contract: this does not compile where what index.js exports is not what types.d.ts declares.
 */

/** Exports without constructors: those of the sessions are private in the contract, for users. */
type Shape<T> = { [K in keyof T]: T[K] extends (...args: never) => unknown ? T[K] : { [S in keyof T[K]]: T[K][S] } };
type Holds<Code extends Contract, Contract> = Code;
export type Contract = Holds<Shape<typeof import('./index.js')>, Shape<typeof import('./types.js')>>;
export type FederatedContract = Holds<
  Shape<typeof import('./federated/index.js')>,
  Shape<typeof import('./types/federated/index.js')>
>;
export type LayersContract = Holds<
  Shape<typeof import('./layers/index.js')>,
  Shape<typeof import('./types/layers/index.js')>
>;
