import { execFile } from "node:child_process";
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { userEnvironment } from "@leasehold/test-kit/processes/user-environment";
import { describe, expect } from "vitest";
import { test, TIME_LIMIT_MS, workshop } from "./test.ts";

const readme = join(import.meta.dirname, "../../../infra/aws/README.md");

describe.concurrent("the README of infra/aws", { timeout: TIME_LIMIT_MS }, () => {
  test("leads from an empty folder to all that is deployed, by the packed packages", async ({ folder }) => {
    const text = await readFile(readme, "utf8");
    const [install = "", deploy = ""] = blocks(text, "sh");
    const parent = join(folder, "infra-aws");
    await mkdir(parent);
    await writeFile(join(parent, "npmrc"), (await workshop.registry).npmrc);
    const env = { ...userEnvironment(), npm_config_prefer_offline: "true" };
    const shell = async (script: string, cwd: string): Promise<unknown> =>
      await promisify(execFile)("bash", ["-ec", script], { cwd, env, maxBuffer: 64 * 1024 * 1024 });

    // Our packages come from the workshop's registry, and all others from npm's usual one.
    const [enter = "", ...rest] = install.split("\n");
    await shell([enter, "cp ../npmrc .npmrc", ...rest].join("\n"), parent);
    const project = join(parent, "leases");
    await writeFile(join(project, "app.ts"), blocks(text, "ts").join("\n"));
    await shell("npx tsc --noEmit --strict --skipLibCheck --module nodenext --target es2023 --types node *.ts", project);
    const [synthesize = ""] = deploy.split("\n");
    expect(synthesize).toMatch(/^npx cdk synth/);
    await shell(synthesize, project);

    const written = await readdir(join(project, "cdk.out"));
    for (const stack of ["LeaseholdTable", "LeaseholdCandidates", "LeaseholdReports", "LeaseholdReportsInIreland"]) {
      expect(written).toContain(`${stack}.template.json`);
    }
    // The folder also contains the parts of an image and a function. Only Docker and an account are missing.
    const programs = await Promise.all(
      written
        .filter((name) => name.startsWith("asset."))
        .map(async (name) => (await readdir(join(project, "cdk.out", name))).toSorted()),
    );
    expect(programs).toContainEqual(["Dockerfile", "candidate.ts", "package-lock.json", "package.json"]);
    expect(programs).toContainEqual(expect.arrayContaining(["index.mjs"]));
  });
});

function blocks(markdown: string, language: string): string[] {
  return [...markdown.matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\``, "gm"))].map((match) => match[1] ?? "");
}
