import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { checkCommandLine } from "./command-line.ts";
import { checkConsumer } from "./consumer.ts";
import { checkInfrastructure } from "./infrastructure.ts";
import { Report } from "./report.ts";
import { checkTarball, pack, type Manifest, type Workspace } from "./tarball.ts";

/*
 * Checks the packages as a user gets them: as tarballs. This program packs every published package and checks the contents. Then
 * it installs all packages together in an empty folder. There a program imports them, and the compiler reads their types. The
 * constructs for a cloud are installed in a folder of their own, where the app of their README is synthesized. Run
 * `npm run types` before it, because it needs `dist`.
 */

const root = join(import.meta.dirname, "../../..");
const report = new Report();
const temporary = mkdtempSync(join(tmpdir(), "leasehold-packaging-"));
try {
  const workspaces = findWorkspaces();
  const published = workspaces.filter(({ manifest }) => manifest.private !== true);
  await report.check("packages to publish are found", () => {
    if (published.length === 0) throw new Error(`There is none under ${join(root, "packages")}.`);
  });
  const tarballs = (await report.check("npm pack", async () => await pack(published, temporary, root))) ?? [];
  // A failure to pack has been reported. Go on only with tarballs: other packages would come from a registry.
  if (tarballs.length > 0) {
    const folder = join(temporary, "consumer");
    mkdirSync(folder);
    // The longest checks come first. Programs begin in this order, a few at a time.
    await Promise.all([
      checkConsumer(report, tarballs.filter(isLibrary), folder, root),
      ...tarballs
        .filter((workspace) => !isLibrary(workspace))
        .map(async (cloud) => checkInfrastructure(report, cloud, tarballs, join(temporary, basename(cloud.folder)), root)),
      checkCommandLine(report, tarballs, temporary),
      ...tarballs.map(async (tarball) => checkTarball(report, tarball, workspaces, root)),
    ]);
  }
} finally {
  rmSync(temporary, { recursive: true, force: true });
}
process.exitCode = report.summarize();

function findWorkspaces(): Workspace[] {
  const folders = ["packages", "infra"].flatMap((parent) => readdirSync(join(root, parent)).map((name) => join(parent, name)));
  return [...folders, "test", "test/kit"]
    .map((name) => join(root, name))
    .filter((folder) => existsSync(join(folder, "package.json")))
    .map((folder) => ({ folder, manifest: JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as Manifest }));
}

function isLibrary({ folder }: Workspace): boolean {
  return folder.startsWith(join(root, "packages"));
}
