// The API for programs. The command itself starts in main.ts.

export { storeFromUrl } from "./store-url/store-from-url.ts";
