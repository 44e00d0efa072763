// Its URL is the extension's.
