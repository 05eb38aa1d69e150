/** Runs in a package's folder before npm packs it. Copies the files that each package needs, and the repository has once. */
import { copyFileSync, readFileSync } from "node:fs";
import type { Manifest } from "./tarball.ts";

const root = new URL("../../../", import.meta.url);
const { name, files = [] } = JSON.parse(readFileSync("package.json", "utf8")) as Manifest;
copyFileSync(new URL("LICENSE", root), "LICENSE");
if (files.includes("SKILL.md") && name !== "@leasehold/core") {
  copyFileSync(new URL("packages/core/SKILL.md", root), "SKILL.md");
}
