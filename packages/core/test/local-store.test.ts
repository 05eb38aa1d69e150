import { Elector, MemoryLeaseStore, type ElectorOptions } from "@leasehold/core";
import { localStoreWarning } from "../src/store/local-store.ts";
import { afterEach, describe, expect, test, vi, type MockInstance } from "vitest";
import { Lines } from "./lines.ts";

describe("a store that no other process reaches", () => {
  test.for<[env: Record<string, string>, hostname: string, evidence: RegExp]>([
    [{ KUBERNETES_SERVICE_HOST: "10.0.0.1" }, "worker", /KUBERNETES_SERVICE_HOST is set, as on Kubernetes/],
    [{ AWS_LAMBDA_FUNCTION_NAME: "f" }, "169.254.1.1", /as on AWS Lambda/],
    [{ ECS_CONTAINER_METADATA_URI_V4: "x" }, "worker", /ECS_CONTAINER_METADATA_URI_V4 is set, as on Amazon ECS/],
    [{ K_SERVICE: "x" }, "worker", /K_SERVICE is set, as on Cloud Run/],
    [{ CLOUD_RUN_JOB: "x" }, "worker", /CLOUD_RUN_JOB is set, as on Cloud Run/],
    [{ CONTAINER_APP_NAME: "x" }, "worker", /CONTAINER_APP_NAME is set, as on Azure Container Apps/],
    [{ FUNCTIONS_WORKER_RUNTIME: "x" }, "worker", /FUNCTIONS_WORKER_RUNTIME is set, as on Azure Functions/],
    [{ DYNO: "x" }, "worker", /DYNO is set, as on Heroku/],
    [{ FLY_MACHINE_ID: "x" }, "worker", /FLY_MACHINE_ID is set, as on Fly\.io/],
    [{}, "3f2a9c81d7be", /'3f2a9c81d7be', as Docker names containers/],
    [
      { NODE_ENV: "production" },
      "billing-7d9c5b8f6c-x2x7k",
      /'billing-7d9c5b8f6c-x2x7k', as pods are, and NODE_ENV is production/,
    ],
  ])("causes a warning with %o on %s", ([env, hostname, evidence]) => {
    const warning = localStoreWarning("A memory store", { env, hostname });
    expect(warning).toMatch(evidence);
    expect(warning).toMatch(/^A memory store is not shared.* elects a leader of its own\. Use a store that all of them reach/);
  });

  test.for<[env: Record<string, string>, hostname: string]>([
    [{}, "laptop"],
    [{}, "billing-7d9c5b8f6c-x2x7k"],
    [{ NODE_ENV: "production" }, "web-1"],
    [{ NODE_ENV: "production" }, "ip-10-0-0-17"],
    [{ NODE_ENV: "test", KUBERNETES_SERVICE_HOST: "10.0.0.1" }, "3f2a9c81d7be"],
    [{ NODE_TEST_CONTEXT: "child-v8" }, "3f2a9c81d7be"],
    [{ KUBERNETES_SERVICE_HOST: "" }, "laptop"],
  ])("causes no warning with %o on %s", ([env, hostname]) => {
    expect(localStoreWarning("A memory store", { env, hostname })).toBeUndefined();
  });
});

describe("an elector on a memory store in a container", () => {
  afterEach(() => {
    vi.unstubAllEnvs();
    vi.restoreAllMocks();
  });

  function elect(...options: readonly ElectorOptions[]): Elector[] {
    return options.map((one) => new Elector(one));
  }

  function inContainer(): MockInstance<typeof process.emitWarning> {
    vi.stubEnv("NODE_ENV", "production");
    vi.stubEnv("KUBERNETES_SERVICE_HOST", "10.0.0.1");
    return vi.spyOn(process, "emitWarning").mockImplementation(() => undefined);
  }

  test("warns its logger once, for any number of electors and stores", () => {
    const emitted = inContainer();
    const lines = new Lines();
    elect(
      { store: new MemoryLeaseStore(), election: "a", logger: lines },
      { store: new MemoryLeaseStore(), election: "b", logger: lines },
      { store: new MemoryLeaseStore().occurrences("a"), election: "tick", logger: lines },
    );

    expect(lines.warnings).toEqual([expect.stringMatching(/^A memory store is not shared between containers/)]);
    expect(emitted).not.toHaveBeenCalled();
  });

  test("causes one process warning without a logger, and none if the logger is false", () => {
    const emitted = inContainer();
    elect({ store: new MemoryLeaseStore(), election: "a", logger: false });
    expect(emitted).not.toHaveBeenCalled();
    elect({ store: new MemoryLeaseStore(), election: "a" }, { store: new MemoryLeaseStore(), election: "b" });
    expect(emitted.mock.calls).toEqual([
      [expect.stringContaining("A memory store"), { type: "LeaseholdWarning", code: "LEASEHOLD_LOCAL_STORE" }],
    ]);
  });
});
