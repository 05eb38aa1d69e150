import { ConfigurationError } from "@leasehold/core";
import type { FirestoreLeaseStoreOptions } from "@leasehold/firestore";
import { loadProvider } from "./provider.ts";
import { disposable, type StoreKind } from "./store-kind.ts";
import type { StoreUrl } from "./store-url.ts";

type Firestore = NonNullable<FirestoreLeaseStoreOptions["firestore"]>;

/** The part of `@google-cloud/firestore` that is used here. */
interface Sdk {
  readonly Firestore: new (settings: object) => Firestore;
}

/** A Firestore collection in a database of a project. */
export const firestore: StoreKind = {
  example: "firestore://PROJECT/COLLECTION",
  parameters: ["database", "endpoint"],
  check({ authority, path, parameters }) {
    if (authority === "" || path === "") {
      throw new ConfigurationError("a URL of firestore: names a project and a collection: firestore://PROJECT/COLLECTION.");
    }
    const endpoint = parameters.get("endpoint");
    if (endpoint === undefined || /^https?:\/\/[^/]+\/?$/.test(endpoint)) return;
    throw new ConfigurationError("endpoint is the URL of a server, as http://127.0.0.1:8080.");
  },
  async open(url, place) {
    const { module, sdk } = await loadProvider<typeof import("@leasehold/firestore")>("@leasehold/firestore", place);
    const { Firestore } = (await sdk("@google-cloud/firestore")) as Sdk;
    const client = new Firestore({ ...module.KEEPALIVE, ...settingsOf(url) });
    return disposable(new module.FirestoreLeaseStore({ firestore: client, collection: url.path }), () => client.terminate());
  },
};

function settingsOf({ authority: projectId, parameters }: StoreUrl): object {
  const databaseId = parameters.get("database");
  const endpoint = parameters.get("endpoint");
  const server = endpoint === undefined ? {} : { host: new URL(endpoint).host, ssl: endpoint.startsWith("https:") };
  return { projectId, ...(databaseId === undefined ? {} : { databaseId }), ...server };
}
