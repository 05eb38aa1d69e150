import { globSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { run } from "./command.ts";
import { npmInstall } from "./install.ts";
import type { Report } from "./report.ts";
import type { Manifest, Tarball } from "./tarball.ts";

/** The compiler options of a user who begins an app. The types of the clouds' own packages are not checked. */
const COMPILER_OPTIONS = {
  target: "es2023",
  module: "nodenext",
  strict: true,
  noEmit: true,
  skipLibCheck: true,
  types: ["node"],
};

/** Matches a program in a README that creates an app. */
const APP = /^```ts\n((?:(?!^```)[^])*?new App\((?:(?!^```)[^])*?)^```/m;

/**
 * Checks that the constructs for a cloud work from their tarballs alone. In an empty folder with their peers, the app of their
 * README is compiled and synthesized.
 */
export async function checkInfrastructure(
  report: Report,
  cloud: Tarball,
  tarballs: readonly Tarball[],
  folder: string,
  root: string,
): Promise<void> {
  const { name } = cloud.manifest;
  await report.check(
    `${name}: the app of its README compiles and is synthesized, beside nothing but tarballs and peers`,
    async () => {
      const [, app] = APP.exec(readFileSync(join(cloud.folder, "README.md"), "utf8")) ?? [];
      if (!app) throw new Error("Its README has no block of TypeScript with a `new App(`.");
      mkdirSync(folder);
      writeFileSync(join(folder, "package.json"), JSON.stringify(manifest(cloud, tarballs, root)));
      writeFileSync(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions: COMPILER_OPTIONS, files: ["app.ts"] }));
      writeFileSync(join(folder, "app.ts"), app);
      await npmInstall(folder);
      await run(process.execPath, [join(root, "node_modules/typescript/bin/tsc")], folder);
      await run(process.execPath, ["app.ts"], folder, { CDK_OUTDIR: join(folder, "cdk.out") });
      const written = globSync(["cdk.out/*.template.json", "cdktf.out/stacks/*/cdk.tf.json"], { cwd: folder });
      const resources = written.flatMap((file) => {
        const template = JSON.parse(readFileSync(join(folder, file), "utf8")) as { Resources?: object; resource?: object };
        return Object.keys(template.Resources ?? template.resource ?? {});
      });
      if (resources.length === 0) throw new Error(`It wrote no resource, in ${written.join(", ") || "no file"}.`);
    },
  );
}

/** Returns the package, our packages that it needs, and all their peers, at the versions of the tests. */
function manifest(cloud: Tarball, tarballs: readonly Tarball[], root: string): object {
  const needed = new Set([cloud]);
  const dependencies: Record<string, string | undefined> = {};
  for (const { manifest: each, path } of needed) {
    dependencies[each.name] = `file:${path}`;
    const peers = Object.keys(each.peerDependencies ?? {}).filter((peer) => each.peerDependenciesMeta?.[peer]?.optional !== true);
    for (const other of [...Object.keys(each.dependencies ?? {}), ...peers]) {
      const ours = tarballs.find(({ manifest: candidate }) => candidate.name === other);
      if (ours) needed.add(ours);
      else if (peers.includes(other)) dependencies[other] = each.devDependencies?.[other];
    }
  }
  const { devDependencies } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as Manifest;
  dependencies["@types/node"] = devDependencies?.["@types/node"];
  return { name: "infrastructure", version: "1.0.0", private: true, type: "module", dependencies };
}
