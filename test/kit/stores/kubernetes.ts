import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { KubernetesLeaseStore } from "@leasehold/kubernetes";
import { startServiceChild } from "../backends/service-process.ts";
import { makeTermGuarded, openTermGuarded } from "./term-guarded.ts";
import type { TestStore } from "./test-store.ts";

/** Leases of Kubernetes, on our own API server. The documents compare terms, because Kubernetes has no fence. */
export const kubernetes: TestStore = {
  title: "Kubernetes",
  leaseDurationMs: 2_000,

  missing: () => Promise.resolve(undefined),

  async start() {
    const folder = await mkdtemp(join(tmpdir(), "leasehold-kubernetes-"));
    const documents = join(folder, "documents.db");
    makeTermGuarded(documents);
    const server = await startServiceChild("The API server", new URL("../backends/kubernetes-child.ts", import.meta.url));
    return {
      settings: { store: "kubernetes", url: server.url, documents },
      place: `our own API server, in memory, ${server.url}`,
      pause: () => server.pause(),
      resume: () => server.resume(),
      [Symbol.asyncDispose]: async () => {
        await server.stop();
        await rm(folder, { recursive: true, force: true, maxRetries: 5 });
      },
    };
  },

  open({ url = "", documents = "" }) {
    const store = new KubernetesLeaseStore({ kubeConfig: kubeConfigOf(url) });
    return Promise.resolve({ store, ...openTermGuarded(documents) });
  },
};

/** Returns a kubeconfig for a server, with the fields of its cluster and its user. */
export function kubeConfigOf(server: string, cluster: object = {}, user: object = {}): object {
  return {
    "current-context": "test",
    contexts: [{ name: "test", context: { cluster: "test", user: "test", namespace: "default" } }],
    clusters: [{ name: "test", cluster: { server, ...cluster } }],
    users: [{ name: "test", user }],
  };
}
