// A classic script in the words of 2015, for browsers that cannot run the page: it says what they lack.
// biome-ignore lint/complexity/useArrowFunction: those browsers have no arrows
(function () {
  var trouble = document.getElementById('trouble');
  var words = document.getElementById('trouble-words');
  // A WebAssembly module with one function that uses SIMD.
  var simd = [0, 97, 115, 109, 1, 0, 0, 0, 1, 5, 1, 96, 0, 1, 123, 3, 2, 1, 0, 10, 8, 1, 6, 0, 65, 0, 253, 15, 11];
  var isNew =
    'noModule' in document.createElement('script') &&
    typeof WebAssembly === 'object' &&
    WebAssembly.validate(new Uint8Array(simd));
  if (isNew) return;
  words.textContent =
    'This browser is too old for this page, or a lockdown mode is on: it lacks WebAssembly with SIMD. Chrome 91, ' +
    'Firefox 89, Safari 16.4 and later ones have it.';
  trouble.hidden = false;
})();
