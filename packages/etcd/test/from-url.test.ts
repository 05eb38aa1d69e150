import { fromUrl } from "@leasehold/etcd";
import { storeUrl } from "@leasehold/test-kit/stores/store-url";
import { expect, test } from "vitest";

test.each(["etcd://a", "etcds://a:2379,b?prefix=/services/"])("%s names hosts", (text) => {
  const url = storeUrl(text);
  expect(() => fromUrl[url.scheme]!.check?.(url)).not.toThrow();
});

test.each(["etcd://", "etcd://a/e", "etcds://a,", "etcds://,a"])("%s is refused", (text) => {
  const url = storeUrl(text);
  const form = `${url.scheme}://HOST:2379,HOST:2379?prefix=/services/.`;
  expect(() => fromUrl[url.scheme]!.check?.(url)).toThrow(`a URL of ${url.scheme}: names hosts, and no path: ${form}`);
});
