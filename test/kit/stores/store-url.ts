import type { StoreUrl } from "@leasehold/core/provider";

/** Returns the parts of a store's URL, as the command does. Nothing in it is encoded. */
export function storeUrl(text: string): StoreUrl {
  const [, scheme = "", authority = "", path = "", query = ""] = /^(.*?):\/\/([^/?]*)\/?([^?]*)\??(.*)$/.exec(text) ?? [];
  const parameters = new Map(new URLSearchParams(query));
  return { text, scheme, user: undefined, password: undefined, authority, path, file: `/${path}`, parameters };
}
