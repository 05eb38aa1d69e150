import type { StoreUrl, StoreUrlContext } from "@leasehold/core/provider";

/** Returns the parts of a store's URL, as the command does. Nothing in it is encoded. */
export function storeUrl(text: string): StoreUrl {
  const [, scheme = "", authority = "", path = "", query = ""] = /^(.*?):\/\/([^/?]*)\/?([^?]*)\??(.*)$/.exec(text) ?? [];
  const parameters = new Map(new URLSearchParams(query));
  return { text, scheme, user: undefined, password: undefined, authority, path, file: `/${path}`, parameters };
}

/** A process without variables, for URLs that name no file and no other store. */
export const NOTHING: StoreUrlContext = {
  env: {},
  readFile: (_, parameter) => Promise.reject(new Error(`It reads ${parameter}.`)),
  openStore: (url) => Promise.reject(new Error(`It opens ${url}.`)),
};
