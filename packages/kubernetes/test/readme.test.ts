import { readFile } from "node:fs/promises";
import { KubernetesLeaseStore } from "@leasehold/kubernetes";
import { startKubernetes } from "@leasehold/test-kit/backends/kubernetes";
import { kubeConfigOf } from "@leasehold/test-kit/stores/kubernetes";
import { expect, test } from "vitest";
import { parse } from "yaml";

const README = await readFile(new URL("../README.md", import.meta.url), "utf8");

/** Returns the code blocks of a language. */
function blocks(language: string): readonly string[] {
  return [...README.matchAll(new RegExp(`\`\`\`${language}\n(.*?)\`\`\``, "gs"))].map(([, code]) => code ?? "");
}

test("the README shows code whose types are checked", async () => {
  const file = await readFile(new URL("./readme/elector.ts", import.meta.url), "utf8");
  expect(blocks("ts")[0]).toBe(file.replace(/\n\/\/ Not shown:.*$/s, "\n"));
});

interface Role {
  readonly kind: string;
  readonly rules: ReadonlyArray<{ readonly resourceNames?: readonly string[]; readonly verbs: readonly string[] }>;
}

test("the Role of the README allows all that a candidate does, and no list", async () => {
  await using server = await startKubernetes();
  const { rules } = parse(blocks("yaml")[0] ?? "") as Role;
  const refused: string[] = [];
  server.api.allows = (verb, name) => {
    if (verb === "review") return true;
    // A rule with resourceNames allows no request without a name, such as a create.
    const isAllowed = rules.some(
      ({ verbs, resourceNames }) => verbs.includes(verb) && (resourceNames === undefined || resourceNames.includes(name ?? "")),
    );
    if (!isAllowed) refused.push(verb);
    return isAllowed;
  };
  const store = new KubernetesLeaseStore({ kubeConfig: kubeConfigOf(server.url) });
  const election = "nightly-billing";
  const limits = { timeoutMs: 60_000 };
  const stopping = new AbortController();
  for await (const _ of store.watch?.(election, { signal: stopping.signal }) ?? []) break;
  stopping.abort();
  expect((await store.check({ election, ...limits })).warnings).toEqual([]);
  const request = { election, candidateId: "a", leaseDurationMs: 60_000, renewIntervalMs: 20_000, ...limits };
  const outcome = await store.acquire(request);
  if (!outcome.acquired) throw new Error("The lease was not acquired.");
  await store.renew(outcome.lease, limits);
  await store.break(election, { reason: "stuck", ...limits });
  await store.release(outcome.lease, limits);
  await store.read(election, limits);
  expect(refused).toEqual([]);
  await expect(store.list("", limits)[Symbol.asyncIterator]().next()).rejects.toMatchObject({ code: "STORE_DENIED" });
});
