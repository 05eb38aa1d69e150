// Prints what the matrices of .github/workflows/ci.yml are made of, as lines for $GITHUB_OUTPUT. It needs no installation.
import { readdirSync } from "node:fs";
import { STORE_NAMES } from "../test/kit/stores/stores.ts";

const packages = readdirSync(new URL("../packages", import.meta.url));
const folders = [
  ...packages.map((name) => `packages/${name}/`),
  "infra/",
  "site/",
  "test/kit/",
  "test/programs/",
  "test/suites/",
];
console.log(`folders=${JSON.stringify(folders)}`);
console.log(`stores=${JSON.stringify(STORE_NAMES)}`);
