import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { checkCommandLine } from "./command-line.ts";
import { checkConsumer } from "./consumer.ts";
import { checkInfrastructure } from "./infrastructure.ts";
import { Report } from "./report.ts";
import { checkTarball, pack, type Manifest, type Workspace } from "./tarball.ts";

/*
 * A user gets the tarball, not the repository: this packs every published package, checks what is inside, and
 * installs them together in an empty folder elsewhere, where a program imports them and the compiler reads their types.
 * The constructs for a cloud are installed in a folder of their own, where the app of their README is synthesized.
 * It needs `dist`, so `npm run types` comes before it.
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
  // A package that could not be packed has been reported; what depends on it could only be installed from a registry.
  if (tarballs.length > 0) {
    const folder = join(temporary, "consumer");
    mkdirSync(folder);
    // What takes longest first: programs begin in this order, a few at a time.
    await Promise.all([
      checkConsumer(report, tarballs.filter(isLibrary), folder, root),
      ...tarballs
        .filter(isCloud)
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

/** What is for one cloud has an app; what the clouds share is tried with them. */
function isCloud(workspace: Workspace): boolean {
  return !isLibrary(workspace) && basename(workspace.folder) !== "terrain";
}
