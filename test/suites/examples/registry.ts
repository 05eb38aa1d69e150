import { execFile } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { basename, join } from "node:path";
import { promisify } from "node:util";
import { nodeExecutable } from "@leasehold/test-kit/processes/owned-process";
import type { Manifest, Workspace } from "../../programs/packaging/tarball.ts";

const root = join(import.meta.dirname, "../../..");
const execute = promisify(execFile);

/** A package as it would be published: packed into a file. */
interface Packed extends Workspace {
  readonly path: string;
}

/** A registry that has our packages as they would be published, and nothing else; npm asks its usual one for the rest. */
export interface Registry extends AsyncDisposable {
  /** The line of an .npmrc that sends npm here for our packages. */
  readonly npmrc: string;
}

/** Builds and packs every package that is published, into `folder`, and serves them. */
export async function startRegistry(folder: string): Promise<Registry> {
  const workspaces = ["packages", "infra"]
    .flatMap((parent) => readdirSync(join(root, parent)).map((name) => join(root, parent, name)))
    .filter((path) => existsSync(join(path, "package.json")))
    .map((path) => ({ folder: path, manifest: JSON.parse(readFileSync(join(path, "package.json"), "utf8")) as Manifest }))
    .filter(({ manifest }) => manifest.private !== true);
  const tsc = join(root, "node_modules/typescript/bin/tsc");
  await execute(nodeExecutable(), [tsc, "-b", ...workspaces.map((each) => each.folder)], { cwd: root });
  const tarballs = new Map((await packed(workspaces, folder)).map((each) => [each.manifest.name, each]));

  const server = createServer((request, response) => {
    const path = decodeURIComponent(request.url ?? "").slice(1);
    const tarball = tarballs.get(path);
    if (tarball) {
      response
        .setHeader("content-type", "application/json")
        .end(JSON.stringify(packument(tarball, `http://${request.headers.host}`)));
    } else if ([...tarballs.values()].some((each) => basename(each.path) === path)) {
      void readFile(join(folder, path)).then((content) => response.end(content));
    } else {
      response.writeHead(404).end();
    }
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    npmrc: `@leasehold:registry=http://127.0.0.1:${(server.address() as AddressInfo).port}/\n`,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Packs all of them by one npm. */
async function packed(workspaces: readonly Workspace[], folder: string): Promise<Packed[]> {
  const each = workspaces.flatMap(({ manifest }) => ["--workspace", manifest.name]);
  const { stdout } = await execute("npm", ["pack", "--json", "--pack-destination", folder, ...each], {
    cwd: root,
    maxBuffer: 64 * 1024 * 1024,
  });
  const files = JSON.parse(stdout) as ReadonlyArray<{ readonly name: string; readonly filename: string }>;
  return workspaces.map((workspace) => {
    const file = files.find(({ name }) => name === workspace.manifest.name);
    if (!file) throw new Error(`npm has not packed ${workspace.manifest.name}:\n${stdout}`);
    return { ...workspace, path: join(folder, file.filename) };
  });
}

/** What npm asks of a package: its versions. There is one. */
function packument({ manifest, path }: Packed, origin: string): object {
  const { name, version } = manifest;
  const published = { ...manifest, dist: { tarball: `${origin}/${basename(path)}` } };
  return { name, "dist-tags": { latest: version }, versions: { [version]: published } };
}
