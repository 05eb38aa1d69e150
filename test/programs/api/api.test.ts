import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { publicPackages, reportOf } from "./report.ts";

const root = join(import.meta.dirname, "../../..");

test.each(publicPackages(root))("%s exports what its api.txt says", (folder) => {
  const file = join(root, folder, "api.txt");
  const written = existsSync(file) ? readFileSync(file, "utf8") : "";
  expect(
    reportOf(root, folder),
    `The exports have changed. Run "npm run api", and review the difference of ${folder}/api.txt.`,
  ).toBe(written);
});
