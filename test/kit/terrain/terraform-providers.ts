import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Reports whether `terraform` is installed. */
export function hasTerraform(): boolean {
  return spawnSync("terraform", ["version"]).status === 0;
}

/**
 * Returns the answer of `terraform providers` on a stack. Terraform parses the stack for that, without a network. It does not ask
 * the providers.
 * @throws {Error} if Terraform refuses it, with Terraform's message.
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
