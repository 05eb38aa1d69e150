import { ConfigurationError } from "@leasehold/core";
import { disposable, type StoreScheme, type StoreSchemes, type StoreUrl } from "@leasehold/core/provider";
import { ObjectStorageLeaseStore } from "./object-storage-lease-store.ts";
import { PARAMETERS } from "./options.ts";

/**
 * Opens an {@link ObjectStorageLeaseStore} by a URL such as `s3://BUCKET/PREFIX/?region=eu-west-1` or `gs://BUCKET/PREFIX/`. The
 * bucket must exist.
 */
export const fromUrl: StoreSchemes = {
  s3: scheme("s3", "@aws-sdk/client-s3", ({ authority, parameters }) => {
    const region = parameters.get("region");
    return `aws s3 mb s3://${authority}${region === undefined ? "" : ` --region ${region}`}`;
  }),
  gs: scheme(
    "gs",
    "@google-cloud/storage",
    ({ authority }) => `gcloud storage buckets create gs://${authority} --soft-delete-duration=0`,
  ),
};

function scheme(name: keyof typeof PARAMETERS, sdk: string, creation: (url: StoreUrl) => string): StoreScheme {
  return {
    parameters: PARAMETERS[name],
    packages: () => [sdk],
    check({ authority, text }) {
      if (authority === "" || authority.includes(",")) {
        throw new ConfigurationError(
          `a URL of ${name}: names a bucket, and the beginning of its keys or none: ${name}://BUCKET/PREFIX/.`,
        );
      }
      // Nothing is loaded or sent before the first request.
      void new ObjectStorageLeaseStore({ url: text });
    },
    creation: (url) => [creation(url)],
    open({ text }) {
      const store = new ObjectStorageLeaseStore({ url: text });
      return Promise.resolve(disposable(store, () => store.close()));
    },
  };
}
