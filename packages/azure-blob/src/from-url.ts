import { ConfigurationError } from "@leasehold/core";
import { disposable, type StoreSchemes, type StoreUrl, type StoreUrlContext } from "@leasehold/core/provider";
import { BlobLeaseStore } from "./blob-lease-store.ts";
import type { BlobLeaseStoreOptions } from "./options.ts";

const CONNECTION_STRING = "connection-string-env";

/** Opens a {@link BlobLeaseStore} by a URL such as `azure-blob://ACCOUNT/CONTAINER`. The container must exist. */
export const fromUrl: StoreSchemes = {
  "azure-blob": {
    parameters: ["endpoint", CONNECTION_STRING],
    // A connection string has a key. Without one, `@azure/identity` finds the credentials.
    packages: ({ parameters }) => (parameters.has(CONNECTION_STRING) ? [] : ["@azure/identity"]),
    check({ authority, path, parameters }) {
      if (authority === "" || path === "" || path.includes("/")) {
        throw new ConfigurationError("a URL of azure-blob: names an account and a container: azure-blob://ACCOUNT/CONTAINER.");
      }
      if (parameters.has("endpoint") && parameters.has(CONNECTION_STRING)) {
        throw new ConfigurationError(`a URL of azure-blob: has endpoint or ${CONNECTION_STRING}, and not both.`);
      }
    },
    creation: ({ authority, path }) => [
      `az storage container create --account-name ${authority} --name ${path} --auth-mode login`,
    ],
    open: async (url, context) => await Promise.resolve(disposable(new BlobLeaseStore(urlOptions(url, context)), () => {})),
  },
};

/** Returns the store's options for a URL. @throws {ConfigurationError} if a connection string is missing or for another account. */
export function urlOptions(
  { authority, path: containerName, parameters }: StoreUrl,
  { env }: Pick<StoreUrlContext, "env">,
): BlobLeaseStoreOptions {
  const variable = parameters.get(CONNECTION_STRING);
  if (variable === undefined) {
    return { accountUrl: parameters.get("endpoint") ?? `https://${authority}.blob.core.windows.net`, containerName };
  }
  const connectionString = env[variable];
  if (!connectionString) {
    throw new ConfigurationError(
      `${CONNECTION_STRING} names the variable ${variable}, which is not set; it holds a connection string.`,
    );
  }
  const account = /(?:^|;)AccountName=([^;]*)/i.exec(connectionString)?.[1];
  if (account !== undefined && account !== authority) {
    throw new ConfigurationError(
      `the URL names the account ${authority}, and the connection string in ${variable} is for ${account}.`,
    );
  }
  return { connectionString, containerName };
}
