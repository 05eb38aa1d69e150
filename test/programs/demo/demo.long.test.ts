import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { isMissing } from "@leasehold/test-kit/backends/missing-backend";
import { STORE_NAMES, testStore } from "@leasehold/test-kit/stores/stores";
import { everyWorkerIsGone, expectStory, freshFolder, start } from "./running-demo.ts";

for (const name of STORE_NAMES.filter((each) => each !== "sqlite")) {
  const { title, missing } = await testStore(name);
  test.skipIf(await isMissing(missing()))(`the demo shows its story on ${name}`, async () => {
    const picture = join(await freshFolder(), "timeline.svg");
    const events = await expectStory(title, start(["--json", "--store", name, "--out", picture]));
    expect(await readFile(picture, "utf8")).toContain(`s on ${title}`);
    await everyWorkerIsGone(events);
  });
}
