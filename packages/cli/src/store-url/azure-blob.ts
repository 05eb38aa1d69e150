import { ConfigurationError } from "@leasehold/core";
import type { BlobLeaseStoreOptions } from "@leasehold/azure-blob";
import { loadProvider } from "./provider.ts";
import { disposable, type StoreKind, type StorePlace } from "./store-kind.ts";
import type { StoreUrl } from "./store-url.ts";

const CONNECTION_STRING = "connection-string-env";

/** A container of Azure Blob Storage, which must exist. */
export const azureBlob: StoreKind = {
  example: "azure-blob://ACCOUNT/CONTAINER",
  parameters: ["endpoint", CONNECTION_STRING],
  check({ authority, path, parameters }) {
    if (authority === "" || path === "" || path.includes("/")) {
      throw new ConfigurationError("a URL of azure-blob: names an account and a container: azure-blob://ACCOUNT/CONTAINER.");
    }
    if (parameters.has("endpoint") && parameters.has(CONNECTION_STRING)) {
      throw new ConfigurationError(`a URL of azure-blob: has endpoint or ${CONNECTION_STRING}, and not both.`);
    }
  },
  creation: ({ authority, path }) => [`az storage container create --account-name ${authority} --name ${path} --auth-mode login`],
  async open(url, place) {
    const options = optionsOf(url, place);
    // A connection string has a key. Without one, `@azure/identity` finds the credentials.
    const others = options.connectionString === undefined ? ["@azure/identity"] : [];
    const { module } = await loadProvider<typeof import("@leasehold/azure-blob")>("@leasehold/azure-blob", place, others);
    return disposable(new module.BlobLeaseStore(options), () => {});
  },
};

/**
 * Returns the store's options for a URL. @throws {ConfigurationError} if a connection string is missing or for another account.
 */
export function optionsOf({ authority, path: containerName, parameters }: StoreUrl, { env }: StorePlace): BlobLeaseStoreOptions {
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
