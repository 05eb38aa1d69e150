import { ConfigurationError } from "@leasehold/core";
import { disposable, type StoreSchemes, type StoreUrl } from "@leasehold/core/provider";
import { FirestoreLeaseStore } from "./firestore-lease-store.ts";
import { KEEPALIVE } from "./options.ts";

/** Opens a {@link FirestoreLeaseStore} by a URL such as `firestore://PROJECT/COLLECTION?database=NAME`. */
export const fromUrl: StoreSchemes = {
  firestore: {
    parameters: ["database", "endpoint"],
    check({ authority, path, parameters }) {
      if (authority === "" || path === "") {
        throw new ConfigurationError("a URL of firestore: names a project and a collection: firestore://PROJECT/COLLECTION.");
      }
      const endpoint = parameters.get("endpoint");
      if (endpoint === undefined || /^https?:\/\/[^/]+\/?$/.test(endpoint)) return;
      throw new ConfigurationError("endpoint is the URL of a server, as http://127.0.0.1:8080.");
    },
    async open(url) {
      const { Firestore } = await import("@google-cloud/firestore");
      const client = new Firestore({ ...KEEPALIVE, ...settingsOf(url) });
      return disposable(new FirestoreLeaseStore({ firestore: client, collection: url.path }), () => client.terminate());
    },
  },
};

function settingsOf({ authority: projectId, parameters }: StoreUrl): object {
  const databaseId = parameters.get("database");
  const endpoint = parameters.get("endpoint");
  const server = endpoint === undefined ? {} : { host: new URL(endpoint).host, ssl: endpoint.startsWith("https:") };
  return { projectId, ...(databaseId === undefined ? {} : { databaseId }), ...server };
}
