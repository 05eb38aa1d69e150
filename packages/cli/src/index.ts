// For programs. People use the command: main.ts.

export { storeFromUrl } from "./store-url/store-from-url.ts";
