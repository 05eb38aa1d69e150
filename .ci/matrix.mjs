// Prints what the matrices of .github/workflows/ci.yml are made of, as lines for $GITHUB_OUTPUT. It needs no installation.
import { readdirSync } from "node:fs";
import { STORE_NAMES } from "../test/kit/stores/stores.ts";

const packages = readdirSync(new URL("../packages", import.meta.url));
console.log(`projects=${JSON.stringify([...packages, "sql-libraries", "infra", "programs", "suites"])}`);
console.log(`stores=${JSON.stringify(STORE_NAMES)}`);
