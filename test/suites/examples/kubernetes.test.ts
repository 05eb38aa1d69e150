import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, onTestFinished, test } from "vitest";
import { parseAllDocuments } from "yaml";

const folder = new URL("../../../examples/worker/", import.meta.url);
const read = async (file: string): Promise<string> => await readFile(new URL(file, folder), "utf8");

interface Probe {
  readonly httpGet: { readonly path: string; readonly port: string };
}

interface Workload {
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly spec: {
    readonly replicas: number;
    readonly selector: { readonly matchLabels: object };
    readonly maxUnavailable: number;
    readonly template: {
      readonly metadata: { readonly labels: object };
      readonly spec: {
        readonly serviceAccountName: string;
        readonly terminationGracePeriodSeconds: number;
        readonly containers: readonly [
          {
            readonly env: readonly { readonly name: string; readonly value?: string }[];
            readonly ports: readonly { readonly name: string; readonly containerPort: number }[];
            readonly lifecycle: { readonly preStop: { readonly sleep: { readonly seconds: number } } };
            readonly startupProbe: Probe;
            readonly livenessProbe: Probe;
            readonly readinessProbe: Probe;
          },
        ];
      };
    };
  };
}

const documents = parseAllDocuments(await read("kubernetes.yaml")).map((each) => each.toJS() as Workload);
const [account, deployment, budget] = documents as [Workload, Workload, Workload];
const pod = deployment.spec.template;
const [container] = pod.spec.containers;

test("a pod has time to drain and to release its lease", () => {
  const drainMs = Number(container.env.find(({ name }) => name === "DRAIN_TIMEOUT_MS")?.value);
  const graceMs = pod.spec.terminationGracePeriodSeconds * 1_000;
  expect(graceMs).toBeGreaterThanOrEqual(container.lifecycle.preStop.sleep.seconds * 1_000 + drainMs + 5_000);
});

test("the file says which version of Kubernetes first takes a sleep before the stop", async () => {
  expect(container.lifecycle.preStop.sleep.seconds).toBeGreaterThan(0);
  expect(await read("kubernetes.yaml")).toContain("Kubernetes 1.30");
});

test("the probes ask for paths that the worker answers, at its port", async () => {
  const server = await read("src/server.ts");
  for (const { httpGet } of [container.startupProbe, container.livenessProbe, container.readinessProbe]) {
    expect(server).toContain(`server.get("${httpGet.path}"`);
    expect(container.ports.map(({ name }) => name)).toContain(httpGet.port);
  }
  expect(await read("src/settings.ts")).toContain(`env["PORT"] ?? ${container.ports[0]?.containerPort})`);
});

test("three candidates run, so a drain of a node leaves a leader and a standby", () => {
  expect(deployment.spec.replicas - budget.spec.maxUnavailable).toBe(2);
});

test("the budget covers the pods, and the pods have their own account", () => {
  expect(documents.map(({ kind }) => kind)).toEqual(["ServiceAccount", "Deployment", "PodDisruptionBudget"]);
  for (const { spec } of [deployment, budget]) expect(spec.selector.matchLabels).toEqual(pod.metadata.labels);
  expect(pod.spec.serviceAccountName).toBe(account.metadata.name);
});

test("every variable of the manifest is one that the worker reads", async () => {
  const sources = (await Promise.all(["src/settings.ts", "src/store.ts"].map(read))).join("\n");
  for (const { name } of container.env) expect(sources).toContain(name);
});

describe("Kubernetes' own types", { timeout: 300_000 }, () => {
  const TYPES = { ServiceAccount: "core/v1", Deployment: "apps/v1", PodDisruptionBudget: "policy/v1" };

  /** Returns what the compiler finds wrong with the documents. The types refuse unknown fields. */
  async function faultsOf(manifests: readonly Workload[]): Promise<string> {
    // Below the packages, so that the compiler finds the types.
    const program = await mkdtemp(join(import.meta.dirname, "../../../node_modules/.manifest-"));
    onTestFinished(async () => await rm(program, { recursive: true }));
    const lines = manifests.map((each, index) => {
      const type = `import("kubernetes-types/${TYPES[each.kind as keyof typeof TYPES]}").${each.kind}`;
      return `export const manifest${index}: ${type} = ${JSON.stringify(each, undefined, 1)};`;
    });
    await writeFile(join(program, "manifest.ts"), lines.join("\n"));
    const tsc = join(createRequire(import.meta.url).resolve("typescript/package.json"), "../bin/tsc");
    const args = [tsc, "--noEmit", "--ignoreConfig", "--skipLibCheck", "--moduleResolution", "bundler", "--module", "esnext"];
    const { stdout } = await promisify(execFile)(process.execPath, [...args, join(program, "manifest.ts")]).catch(
      (error: unknown) => error as { readonly stdout: string },
    );
    return stdout;
  }

  test("take the manifests", async () => {
    expect(await faultsOf(documents)).toBe("");
  });

  test("refuse a field that Kubernetes does not know", async () => {
    const wrong = structuredClone(documents);
    Object.assign(wrong[1]!.spec.template.spec, { terminationGracePeriod: 30 });
    expect(await faultsOf(wrong)).toContain(`'"terminationGracePeriod"' does not exist`);
  });
});
