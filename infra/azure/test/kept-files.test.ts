import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";

const root = fileURLToPath(new URL("../../../", import.meta.url));

/** Tells whether git ignores a file, even when a person adds all files. */
function isIgnored(file: string): boolean {
  return spawnSync("git", ["check-ignore", "--quiet", file], { cwd: root }).status === 0;
}

describe.each(["azure", "gcp"])("of the app for %s", (cloud) => {
  test.each([
    `infra/${cloud}/leasehold.tfstate`,
    `infra/${cloud}/leasehold.tfstate.backup`,
    `infra/${cloud}/cdktf.out/manifest.json`,
    `infra/${cloud}/cdktf.out/stacks/leasehold/cdk.tf.json`,
    `infra/${cloud}/cdktf.out/stacks/leasehold/.terraform/providers/x`,
    `infra/${cloud}/cdktf.out/stacks/leasehold/terraform.tfstate`,
  ])("git never takes %s", (file) => {
    expect(isIgnored(file)).toBe(true);
  });

  test("git keeps the providers' lock file, which a synth does not remove", () => {
    expect(isIgnored(`infra/${cloud}/cdktf.out/stacks/leasehold/.terraform.lock.hcl`)).toBe(false);
  });
});
