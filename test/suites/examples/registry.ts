import { existsSync, readdirSync, readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { basename, join } from "node:path";
import { nodeExecutable } from "@leasehold/test-kit/processes/owned-process";
import { run } from "../../programs/packaging/command.ts";
import { pack, type Manifest, type Tarball } from "../../programs/packaging/tarball.ts";

const root = join(import.meta.dirname, "../../..");

/** A registry with our packages as they would be published, and no others. npm asks its usual one for the rest. */
export interface Registry extends AsyncDisposable {
  /** The line of an .npmrc that sends npm here for our packages. */
  readonly npmrc: string;
}

/** Builds and packs every published package into `folder`, and serves them. */
export async function startRegistry(folder: string): Promise<Registry> {
  const workspaces = ["packages", "infra"]
    .flatMap((parent) => readdirSync(join(root, parent)).map((name) => join(root, parent, name)))
    .filter((path) => existsSync(join(path, "package.json")))
    .map((path) => ({ folder: path, manifest: JSON.parse(readFileSync(join(path, "package.json"), "utf8")) as Manifest }))
    .filter(({ manifest }) => manifest.private !== true);
  const tsc = join(root, "node_modules/typescript/bin/tsc");
  await run(nodeExecutable(), [tsc, "-b", ...workspaces.map((each) => each.folder)], root);
  const packed = await pack(workspaces, folder, root);
  const tarballs = new Map(packed.map((tarball) => [tarball.manifest.name, tarball]));

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

/** Returns the document that npm requests for a package. It contains one version. */
function packument({ manifest, path }: Tarball, origin: string): object {
  const { name, version } = manifest;
  const published = { ...manifest, dist: { tarball: `${origin}/${basename(path)}` } };
  return { name, "dist-tags": { latest: version }, versions: { [version]: published } };
}
