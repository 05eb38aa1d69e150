import { expect } from "vitest";
import { test, type ObjectWorld } from "./object-world.ts";

const rules = (...xml: string[]): string =>
  `<LifecycleConfiguration>${xml.map((one) => `<Rule>${one}</Rule>`).join("")}</LifecycleConfiguration>`;
const EXPIRES = "<ID>old</ID><Status>Enabled</Status><Expiration><Days>30</Days></Expiration>";
const NONCURRENT = "<NoncurrentVersionExpiration><NoncurrentDays>1</NoncurrentDays></NoncurrentVersionExpiration>";

async function inspected(world: ObjectWorld, settings: Readonly<Record<string, string>>): Promise<readonly string[]> {
  for (const [name, value] of Object.entries(settings)) world.server.bucket.settings.set(name, value);
  return await world.store().inspect({ election: "e" });
}

test.for<[what: string, settings: Record<string, string>, says: string[]]>([
  ["nothing", {}, []],
  ["a rule for all objects", { lifecycle: rules(`${EXPIRES}<Filter><Prefix></Prefix></Filter>`) }, ["rule 'old' deletes leases"]],
  [
    "an old rule for a part of the prefix",
    { lifecycle: rules(`${EXPIRES}<Prefix>lease</Prefix>`) },
    ["rule 'old' deletes leases"],
  ],
  ["a rule for occurrences", { lifecycle: rules(`${EXPIRES}<Filter><Prefix>leasehold/ticks/</Prefix></Filter>`) }, []],
  ["a rule for other objects", { lifecycle: rules(`${EXPIRES}<Filter><Prefix>logs/</Prefix></Filter>`) }, []],
  ["a rule by a tag", { lifecycle: rules(`${EXPIRES}<Filter><Tag><Key>a</Key><Value>b</Value></Tag></Filter>`) }, []],
  ["a rule that is off", { lifecycle: rules(EXPIRES.replace("Enabled", "Disabled")) }, []],
  [
    "versions",
    { versioning: "<VersioningConfiguration><Status>Enabled</Status></VersioningConfiguration>" },
    ["keeps every version"],
  ],
  [
    "versions that are deleted",
    {
      versioning: "<VersioningConfiguration><Status>Enabled</Status></VersioningConfiguration>",
      lifecycle: rules(`<Status>Enabled</Status><Filter><Prefix></Prefix></Filter>${NONCURRENT}`),
    },
    [],
  ],
  [
    "settings that may not be read",
    { lifecycle: "denied", versioning: "denied" },
    ["lifecycle is not known", "versioning is not known"],
  ],
])("on s3, %s", async ([, settings, says], { open }) => {
  const warnings = await inspected(await open("s3"), settings);
  expect(warnings).toHaveLength(says.length);
  for (const [index, text] of says.entries()) expect(warnings[index]).toContain(text);
});

const deletes = (condition: object): string =>
  JSON.stringify({ lifecycle: { rule: [{ action: { type: "Delete" }, condition }] } });

test.for<[what: string, bucket: string, says: string[]]>([
  ["nothing", "{}", []],
  ["a rule for all objects", deletes({ age: 30 }), ["deletes leases"]],
  ["a rule for another prefix", deletes({ age: 30, matchesPrefix: ["logs/"] }), []],
  ["a rule for old versions", deletes({ daysSinceNoncurrentTime: 1 }), []],
  ["a retention policy", JSON.stringify({ retentionPolicy: { retentionPeriod: "60" } }), ["retention policy refuses"]],
  ["soft delete", JSON.stringify({ softDeletePolicy: { retentionDurationSeconds: "604800" } }), ["Soft delete keeps"]],
  ["versions", JSON.stringify({ versioning: { enabled: true } }), ["keeps every version"]],
  ["two regions", JSON.stringify({ locationType: "dual-region" }), ["location is a dual-region"]],
  ["settings that may not be read", "denied", ["lifecycle is not known"]],
])("on gcs, %s", async ([, bucket, says], { open }) => {
  const warnings = await inspected(await open("gcs"), { bucket });
  expect(warnings).toHaveLength(says.length);
  for (const [index, text] of says.entries()) expect(warnings[index]).toContain(text);
});

test("check() refuses a bucket that deletes leases, unless it must not look at the settings", async ({ open }) => {
  const world = await open("s3");
  world.server.bucket.settings.set("lifecycle", rules(EXPIRES));
  const store = world.store();
  await expect(store.check({ election: "e" })).rejects.toMatchObject({ code: "STORE_REJECTED" });
  await expect(store.check({ election: "e", settings: false })).resolves.toBeDefined();
});
