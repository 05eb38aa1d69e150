import { spawnSync } from "node:child_process";
import { isMissing } from "@leasehold/test-kit/backends/missing-backend";
import { programMissing, PYTHON } from "@leasehold/test-kit/backends/programs";
import { MemoryLeaseStore } from "@leasehold/core";
import { VirtualClock } from "@leasehold/core/testing";
import { DockerfileParser } from "dockerfile-ast";
import { validate } from "dockerfile-utils";
import { describe, expect, test } from "vitest";
import { CapturedCommand } from "./captured-command.ts";
import { documentedBlocks } from "./documented.ts";
import { Sidecar } from "./sidecar.ts";

interface Container {
  readonly command?: readonly string[];
  readonly env?: ReadonlyArray<{ readonly name: string; readonly value?: string }>;
  readonly ports?: ReadonlyArray<{ readonly name: string; readonly containerPort: number }>;
  readonly livenessProbe?: { readonly httpGet: { readonly path: string; readonly port: string } };
  readonly readinessProbe?: { readonly httpGet: { readonly path: string; readonly port: string } };
}

interface Deployment {
  readonly kind: string;
  readonly spec: {
    readonly selector: { readonly matchLabels: object };
    readonly template: {
      readonly metadata: { readonly labels: object };
      readonly spec: { readonly containers: readonly Container[] };
    };
  };
}

/** Expects that the command accepts a line of the page. Its only error is then that the store cannot work. */
async function expectTaken(words: readonly string[]): Promise<void> {
  const at = words.indexOf("leasehold");
  const command = new CapturedCommand();
  Object.assign(command.env, { LEASEHOLD_STORE: "nowhere://at/all", LEASEHOLD_ELECTION: "e" });
  const { exitCode, stderr } = await command.run(...words.slice(at + 1));
  expect([exitCode, stderr]).toEqual([78, expect.stringContaining("nowhere")]);
}

test("the unit of systemd runs a valid command line", async () => {
  const [unit = ""] = await documentedBlocks("systemd", "ini");
  const [, line = ""] = /^ExecStart=(.*)$/m.exec(unit) ?? [];
  await expectTaken(line.split(" "));
});

test("the Dockerfile has no fault, gets the signals itself, and runs a valid command line", async () => {
  const [text = ""] = await documentedBlocks("Docker, as the entry point", "dockerfile");
  expect(validate(text)).toEqual([]);
  const words = DockerfileParser.parse(text)
    .getInstructions()
    .filter((each) => ["ENTRYPOINT", "CMD"].includes(each.getKeyword()))
    .flatMap((each) => JSON.parse(each.getArgumentsContent() ?? "") as string[]);
  await expectTaken(words);
});

describe.skipIf(await isMissing(programMissing(PYTHON)))("the manifests of Kubernetes", () => {
  async function deployment(heading: string): Promise<Deployment> {
    const [text = ""] = await documentedBlocks(heading, "yaml");
    const script = "import json, sys, yaml; print(json.dumps(yaml.safe_load(sys.stdin)))";
    const { stdout, stderr } = spawnSync("python3", ["-c", script], { input: text, encoding: "utf8" });
    expect(stderr).toBe("");
    return JSON.parse(stdout) as Deployment;
  }

  test.each(["Kubernetes, as the entry point", "Kubernetes, as a sidecar"])(
    "are deployments with a valid command (%s)",
    async (heading) => {
      const { kind, spec } = await deployment(heading);
      expect(kind).toBe("Deployment");
      expect(spec.template.metadata.labels).toEqual(spec.selector.matchLabels);
      const commands = spec.template.spec.containers.flatMap(({ command }) => (command ? [command] : []));
      expect(commands).toHaveLength(1);
      for (const command of commands) await expectTaken(command);
    },
  );

  test("probe paths that answer 200 on a standby, at a port on which the sidecar listens", async () => {
    const { spec } = await deployment("Kubernetes, as a sidecar");
    const sidecar = spec.template.spec.containers.find(({ command }) => command !== undefined);
    const probes = [sidecar?.livenessProbe, sidecar?.readinessProbe];
    expect(probes.map((probe) => probe?.httpGet.port)).toEqual(["leasehold", "leasehold"]);
    expect(sidecar?.ports).toEqual([{ name: "leasehold", containerPort: 4040 }]);
    expect(sidecar?.command?.at(-1)).toBe("0.0.0.0:4040");

    const clock = new VirtualClock();
    const store = new MemoryLeaseStore({ clock });
    await using _leader = await new Sidecar("a", store, clock).start();
    await using standby = await new Sidecar("b", store, clock).start();
    expect(await standby.statuses(...probes.map((probe) => probe?.httpGet.path ?? ""))).toEqual([200, 200]);
  });
});
