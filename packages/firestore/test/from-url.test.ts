import { fromUrl } from "@leasehold/firestore";
import { storeUrl } from "@leasehold/test-kit/stores/store-url";
import { expect, test } from "vitest";

const PLACE = "a URL of firestore: names a project and a collection: firestore://PROJECT/COLLECTION.";
const ENDPOINT = "endpoint is the URL of a server, as http://127.0.0.1:8080.";

test.each<[text: string, says: string | undefined]>([
  ["firestore://acme/leases", undefined],
  ["firestore://acme/leases?endpoint=http://127.0.0.1:8080", undefined],
  ["firestore://acme/leases?endpoint=https://acme.example/", undefined],
  ["firestore:///leases", PLACE],
  ["firestore://acme", PLACE],
  ["firestore://acme/leases?endpoint=127.0.0.1:8080", ENDPOINT],
  ["firestore://acme/leases?endpoint=http://127.0.0.1:8080/v1", ENDPOINT],
])("%s is checked", (text, says) => {
  const check = (): void => fromUrl["firestore"]!.check?.(storeUrl(text));
  if (says === undefined) expect(check).not.toThrow();
  else expect(check).toThrow(says);
});
