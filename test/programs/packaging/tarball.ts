import { globSync } from "node:fs";
import { basename, join } from "node:path";
import { run } from "./command.ts";
import type { Report } from "./report.ts";

/** The fields of a package.json that are used here. */
export interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly private?: boolean;
  readonly files?: readonly string[];
  readonly exports?: unknown;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
  readonly peerDependenciesMeta?: Readonly<Record<string, { readonly optional?: boolean }>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

/** A package of this repository. */
export interface Workspace {
  readonly folder: string;
  readonly manifest: Manifest;
}

/** A workspace as npm would publish it. */
export interface Tarball extends Workspace {
  /** The absolute path of the .tgz file. */
  readonly path: string;
  /** The paths of the files inside, relative to the package. */
  readonly files: ReadonlySet<string>;
}

/** Packs workspaces into `folder`. */
export async function pack(workspaces: readonly Workspace[], folder: string, root: string): Promise<readonly Tarball[]> {
  const names = workspaces.flatMap(({ manifest }) => ["--workspace", manifest.name]);
  const output = await run("npm", ["pack", "--json", "--pack-destination", folder, ...names], root);
  const all = JSON.parse(output) as readonly { name: string; filename: string; files: readonly { path: string }[] }[];
  return workspaces.map((workspace) => {
    const packed = all.find(({ name }) => name === workspace.manifest.name);
    if (!packed) throw new Error(`npm pack reported nothing of ${workspace.manifest.name}:\n${output}`);
    return { ...workspace, path: join(folder, packed.filename), files: new Set(packed.files.map(({ path }) => path)) };
  });
}

/** Checks the content of one tarball. */
export async function checkTarball(
  report: Report,
  tarball: Tarball,
  workspaces: readonly Workspace[],
  root: string,
): Promise<void> {
  const { name } = tarball.manifest;
  const tool = (command: string): string => join(root, "node_modules/.bin", command);
  await Promise.all([
    report.check(`${name}: publint --strict`, async () => await run(tool("publint"), ["run", tarball.path, "--strict"], root)),
    report.check(
      `${name}: attw --profile esm-only`,
      async () => await run(tool("attw"), [tarball.path, "--profile", "esm-only"], root),
    ),
  ]);
  await report.check(`${name}: holds the files that each package needs`, () => {
    const needed = ["LICENSE", "README.md", "CHANGELOG.md", ...(tarball.manifest.files ?? [])];
    none(
      "missing",
      needed.filter((file) => ![...tarball.files].some((packed) => packed === file || packed.startsWith(`${file}/`))),
    );
  });
  await report.check(`${name}: dist is the build of src, no more and no less`, () => checkBuild(tarball));
  await report.check(`${name}: holds no tests`, () => {
    none(
      "should not be there",
      [...tarball.files].filter((file) => /(^|\/)(tests?|__tests__)\/|\.(test|spec)\./.test(file)),
    );
  });
  await report.check(`${name}: every target of exports is there`, () => {
    const targets = exportTargets(tarball.manifest.exports);
    if (targets.length === 0) throw new Error("exports names no file.");
    none(
      "missing",
      targets.filter((target) => !tarball.files.has(target.replace(/^\.\//, ""))),
    );
  });
  await report.check(`${name}: depends on nothing private, and on our own packages as they are`, () => {
    none("wrong", wrongDependencies(tarball.manifest, workspaces));
  });
}

/**
 * Checks that `dist` matches the sources. `tsc -b` keeps the output of a deleted source, which would be published. In a package
 * that shares a source with its neighbour, `dist` mirrors the folder of both.
 */
function checkBuild({ folder, files, manifest }: Tarball): void {
  const isShared = exportTargets(manifest.exports).some((target) => target.startsWith(`./dist/${basename(folder)}/src/`));
  const mirrored = join(folder, isShared ? ".." : "src");
  const sources = globSync(isShared ? [`${basename(folder)}/src/**/*.ts`, "*.ts"] : "**/*.ts", { cwd: mirrored });
  const own = new Set(sources.map((file) => file.slice(0, -".ts".length)));
  const built = [...files].flatMap((file) => /^dist\/(.+)\.js$/.exec(file)?.[1] ?? []);
  if (built.length === 0) throw new Error("There is no dist in it; build first: npm run types");
  const missing = [...own].flatMap((source) => [`dist/${source}.js`, `dist/${source}.d.ts`]).filter((file) => !files.has(file));
  const stale = built.filter((source) => !own.has(source)).map((source) => `dist/${source}.js`);
  none("missing, or without a source; npm run clean && npm run types", [...missing, ...stale]);
}

/** Returns every file that `exports` names, under any condition. */
function exportTargets(exports: unknown): string[] {
  if (typeof exports === "string") return [exports];
  return typeof exports === "object" && exports !== null ? Object.values(exports).flatMap(exportTargets) : [];
}

function wrongDependencies(manifest: Manifest, workspaces: readonly Workspace[]): string[] {
  const wanted = { ...manifest.peerDependencies, ...manifest.optionalDependencies, ...manifest.dependencies };
  return workspaces.flatMap(({ manifest: ours }) => {
    const range = wanted[ours.name];
    if (range === undefined) return [];
    if (ours.private === true) return [`${ours.name} is private`];
    return range.replace(/^[~^]/, "") === ours.version ? [] : [`${ours.name} is wanted as ${range}, and is ${ours.version}`];
  });
}

function none(what: string, files: readonly string[]): void {
  if (files.length > 0) throw new Error(`${what}: ${files.join(", ")}`);
}
