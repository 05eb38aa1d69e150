import { fromUrl } from "@leasehold/object-storage";
import { NOTHING, storeUrl } from "@leasehold/test-kit/stores/store-url";
import { expect, test } from "vitest";

test.each<[text: string, says: string | undefined]>([
  ["s3://leases", undefined],
  ["gs://leases/team/", undefined],
  ["s3://", "a URL of s3: names a bucket, and the beginning of its keys or none: s3://BUCKET/PREFIX/."],
  ["gs://one,two", "a URL of gs: names a bucket, and the beginning of its keys or none: gs://BUCKET/PREFIX/."],
  ["s3://Leases", "lower-case letters"],
  ["s3://leases?endpoint=localhost", "endpoint is not a URL"],
])("%s is checked", (text, says) => {
  const url = storeUrl(text);
  const check = (): void => fromUrl[url.scheme]!.check?.(url);
  if (says === undefined) expect(check).not.toThrow();
  else expect(check).toThrow(says);
});

test.each([
  ["s3://leases", "@aws-sdk/client-s3", "aws s3 mb s3://leases"],
  ["s3://leases?region=eu-west-1", "@aws-sdk/client-s3", "aws s3 mb s3://leases --region eu-west-1"],
  ["gs://leases", "@google-cloud/storage", "gcloud storage buckets create gs://leases --soft-delete-duration=0"],
])("%s needs the package %s, and its bucket is made by '%s'", async (text, sdk, creation) => {
  const url = storeUrl(text);
  const scheme = fromUrl[url.scheme]!;
  await using store = await scheme.open(url, NOTHING);
  expect([scheme.packages?.(url), scheme.creation?.(url, store)]).toEqual([[sdk], [creation]]);
  expect(store.name).toBe(url.scheme === "gs" ? "gcs" : "s3");
});
