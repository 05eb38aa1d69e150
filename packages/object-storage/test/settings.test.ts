import { expect } from "vitest";
import { refusal, test, type ObjectWorld } from "./object-world.ts";

const rules = (...xml: string[]): string =>
  `<LifecycleConfiguration>${xml.map((one) => `<Rule>${one}</Rule>`).join("")}</LifecycleConfiguration>`;
const EXPIRES = "<ID>old</ID><Status>Enabled</Status><Expiration><Days>30</Days></Expiration>";
const TAG = "<Tag><Key>a</Key><Value>b</Value></Tag>";
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
  ["a rule by a tag", { lifecycle: rules(`${EXPIRES}<Filter>${TAG}</Filter>`) }, []],
  ["a rule by two tags", { lifecycle: rules(`${EXPIRES}<Filter><And><Prefix></Prefix>${TAG}${TAG}</And></Filter>`) }, []],
  [
    "a rule by a size and the prefix",
    { lifecycle: rules(`${EXPIRES}<Filter><And><Prefix>leasehold/</Prefix></And></Filter>`) },
    ["rule 'old' deletes leases"],
  ],
  ["a rule by a size and another prefix", { lifecycle: rules(`${EXPIRES}<Filter><And><Prefix>a</Prefix></And></Filter>`) }, []],
  [
    "a rule with a date, and without a name",
    { lifecycle: rules("<Status>Enabled</Status><Expiration><Date>2030-01-01T00:00:00Z</Date></Expiration>") },
    ["rule 'without a name' deletes leases"],
  ],
  ["a rule for markers alone", { lifecycle: rules(EXPIRES.replace(/<Days>.*<.Days>/, "<X>true</X>")) }, []],
  ["a rule that is off", { lifecycle: rules(EXPIRES.replace("Enabled", "Disabled")) }, []],
  [
    "versions",
    { versioning: "<VersioningConfiguration><Status>Enabled</Status></VersioningConfiguration>" },
    ["keeps every version"],
  ],
  ["versions once", { versioning: "<VersioningConfiguration><Status>Suspended</Status></VersioningConfiguration>" }, []],
  [
    "versions, and rules that may not be read",
    { lifecycle: "denied", versioning: "<VersioningConfiguration><Status>Enabled</Status></VersioningConfiguration>" },
    ["lifecycle is not known"],
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
  ["a rule for another prefix and a lease's", deletes({ matchesPrefix: ["logs/", "leasehold/e"] }), ["deletes leases"]],
  ["a rule for occurrences", deletes({ matchesPrefix: ["leasehold/ticks/"] }), []],
  ["a rule for old versions", deletes({ daysSinceNoncurrentTime: 1 }), []],
  ["a rule for versions that are replaced", deletes({ numNewerVersions: 1 }), []],
  ["a rule for what is not live", deletes({ isLive: false }), []],
  ["a rule for what is live", deletes({ isLive: true }), ["deletes leases"]],
  ["a rule that deletes nothing", deletes({ age: 30 }).replace("Delete", "SetStorageClass"), []],
  ["a retention policy", JSON.stringify({ retentionPolicy: { retentionPeriod: "60" } }), ["retention policy refuses"]],
  ["soft delete", JSON.stringify({ softDeletePolicy: { retentionDurationSeconds: "604800" } }), ["Soft delete keeps"]],
  ["soft delete that is off", JSON.stringify({ softDeletePolicy: { retentionDurationSeconds: "0" } }), []],
  ["soft delete of a second", JSON.stringify({ softDeletePolicy: { retentionDurationSeconds: "1" } }), ["Soft delete keeps"]],
  ["versions", JSON.stringify({ versioning: { enabled: true } }), ["keeps every version"]],
  ["versions once", JSON.stringify({ versioning: { enabled: false } }), []],
  ["one region", JSON.stringify({ locationType: "region" }), []],
  ["many regions", JSON.stringify({ locationType: "multi-region" }), ["location is a multi-region"]],
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

test.for([
  ["s3", 501, "Whatever", []],
  ["s3", 400, "NotImplemented", []],
  ["s3", 404, "NoSuchLifecycleConfiguration", []],
  ["s3", 400, "Whatever", "STORE_REJECTED"],
  ["gcs", 400, "Whatever", "STORE_REJECTED"],
] as const)("on %s, %d %s instead of settings is %o", async ([protocol, status, code, means], { open }) => {
  const world = await open(protocol);
  world.answer(() => refusal(status, code));
  const inspection = world.store().inspect({ election: "e" });
  if (typeof means === "string") await expect(inspection).rejects.toMatchObject({ code: means, mayHaveBeenApplied: false });
  else await expect(inspection).resolves.toEqual(means);
});
