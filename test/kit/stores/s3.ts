import { isLeaseholdError } from "@leasehold/core";
import { ObjectStorageLeaseStore } from "@leasehold/object-storage";
import { startObjects } from "../backends/objects.ts";
import { BUCKET } from "../object-server/server.ts";
import { documentBeside, objectClient } from "./objects.ts";
import type { TestStore } from "./test-store.ts";

/** S3, on the kit's own server. */
export const s3: TestStore = {
  title: "S3",
  leaseDurationMs: 2_000,

  missing: () => Promise.resolve(undefined),

  async start() {
    const server = await startObjects("s3");
    return {
      settings: { store: "s3", url: server.url },
      place: `@leasehold/test-kit/object-server, in memory, ${server.url}`,
      pause: () => server.pause(),
      resume: () => server.resume(),
      [Symbol.asyncDispose]: () => server.stop(),
    };
  },

  open({ url = "" }) {
    const store = new ObjectStorageLeaseStore({ client: objectClient("s3", url), bucket: BUCKET });
    return Promise.resolve({
      store,
      document: (name) => documentBeside(store, url, name),
      isRefusal: (error) => isLeaseholdError(error, "FENCED"),
      close: () => store.close(),
    });
  },
};
