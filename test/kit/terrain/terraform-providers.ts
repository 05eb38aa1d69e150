import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** There is a `terraform` to ask. */
export function hasTerraform(): boolean {
  return spawnSync("terraform", ["version"]).status === 0;
}

/**
 * The answer of `terraform providers` on a stack, which it parses for that, without a network; not what a provider would say.
 * @throws {Error} if Terraform refuses it, with its words.
 */
export function terraformProviders(stack: string): string {
  const folder = mkdtempSync(join(tmpdir(), "leasehold-terrain-"));
  try {
    const { terraform, ...rest } = JSON.parse(stack) as { terraform?: Record<string, unknown> };
    // A backend would have to be initialized first.
    writeFileSync(join(folder, "cdk.tf.json"), JSON.stringify({ ...rest, terraform: { ...terraform, backend: undefined } }));
    return execFileSync("terraform", ["providers"], {
      cwd: folder,
      encoding: "utf8",
      stdio: ["ignore", "pipe", "pipe"],
      env: { ...process.env, CHECKPOINT_DISABLE: "1" },
    });
  } finally {
    rmSync(folder, { recursive: true });
  }
}
