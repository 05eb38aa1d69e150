/** `npm run api`: writes the report of each package's exports, `api.txt` in its folder. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { publicPackages, reportOf } from "./report.ts";

const root = join(import.meta.dirname, "../../..");
for (const folder of publicPackages(root)) writeFileSync(join(root, folder, "api.txt"), reportOf(root, folder));
