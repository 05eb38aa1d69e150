import { warningsOf } from "@leasehold/test-kit/terrain";
import { TerraformVariable } from "cdktn";
import { describe, expect, test } from "vitest";
import type { TimeToLive } from "@leasehold/infra-gcp";
import { emptyStack, leasesIn, synthesized } from "./synthesized.ts";

describe("a lease database", () => {
  test("is separate, in Native mode, and can be read at an earlier time", () => {
    const stack = emptyStack();
    leasesIn(stack);
    expect(synthesized(stack).of("google_firestore_database")).toMatchObject([
      {
        project: "my-project",
        name: "leases",
        location_id: "europe-west1",
        type: "FIRESTORE_NATIVE",
        point_in_time_recovery_enablement: "POINT_IN_TIME_RECOVERY_ENABLED",
      },
    ]);
  });

  test("is protected from deletion three times, without a warning", () => {
    const stack = emptyStack();
    leasesIn(stack);
    expect(synthesized(stack).of("google_firestore_database")).toMatchObject([
      {
        delete_protection_state: "DELETE_PROTECTION_ENABLED",
        deletion_policy: "ABANDON",
        lifecycle: { prevent_destroy: true },
      },
    ]);
    expect(warningsOf(stack)).toEqual([]);
  });

  test("can be destroyed if asked, and warns of it", () => {
    const stack = emptyStack();
    leasesIn(stack, { removalPolicy: "destroy" });
    expect(synthesized(stack).of("google_firestore_database")).toMatchObject([
      {
        delete_protection_state: "DELETE_PROTECTION_DISABLED",
        deletion_policy: "DELETE",
        lifecycle: { prevent_destroy: false },
      },
    ]);
    expect(warningsOf(stack)).toEqual([expect.stringContaining("terms begin at 1 and repeat")]);
  });

  test("has no TTL policy by default", () => {
    const stack = emptyStack();
    leasesIn(stack);
    expect(synthesized(stack).of("google_firestore_field")).toEqual([]);
  });

  test("lets occurrences expire if asked", () => {
    const stack = emptyStack();
    leasesIn(stack, { timeToLive: { collectionGroup: "ticks", field: "expiresAt" } });
    expect(synthesized(stack).of("google_firestore_field")).toMatchObject([
      { collection: "ticks", field: "expiresAt", ttl_config: {}, index_config: {} },
    ]);
  });

  test.each([
    ["leases", { collectionGroup: "leasehold", field: "expiresAt" }],
    ["fences", { collectionGroup: "fence", field: "expiresAt" }],
    ["anything by a lease's field", { collectionGroup: "ticks", field: "nonceTime" }],
  ])("refuses to let %s expire", (_, timeToLive) => {
    expect(() => leasesIn(emptyStack(), { timeToLive: timeToLive as TimeToLive })).toThrow("begins again at term 1");
  });

  test("is backed up each day if asked", () => {
    const stack = emptyStack();
    leasesIn(stack, { backupRetentionDays: 14 });
    expect(synthesized(stack).of("google_firestore_backup_schedule")).toMatchObject([
      { retention: "1209600s", daily_recurrence: {} },
    ]);
  });

  test.each([
    ["the default database", { databaseId: "(default)" }, "Give the leases a database of their own"],
    ["a name with capitals", { databaseId: "Leases" }, "databaseId"],
    ["a name that is too long for a role", { databaseId: "a".repeat(45) }, "4 to 44"],
    ["a name that ends with a hyphen", { databaseId: "leases-" }, "not end with a hyphen"],
    ["no days of backups", { backupRetentionDays: 0 }, "1 to 98"],
    ["too many days of backups", { backupRetentionDays: 99 }, "1 to 98"],
  ])("refuses %s", (_, props, message) => {
    expect(() => leasesIn(emptyStack(), props)).toThrow(message);
  });

  test("accepts a project and a name that are not known at synthesis", () => {
    const stack = emptyStack();
    const variable = (name: string): string => new TerraformVariable(stack, name, { type: "string" }).stringValue;
    leasesIn(stack, { project: variable("project"), databaseId: variable("database") }).grantCandidate(
      { member: "user:a@b.example" },
      "x",
    );
    const { of } = synthesized(stack);
    expect(of("google_project_iam_member")).toMatchObject([
      { condition: { expression: 'resource.name == "projects/${var.project}/databases/${var.database}"' } },
    ]);
    expect(of("google_project_iam_custom_role")).toMatchObject([
      { role_id: expect.stringMatching(/^lease_candidate_[0-9a-f]{8}$/) },
    ]);
  });

  test("returns metrics by the names that an alert policy takes", () => {
    const leases = leasesIn(emptyStack());
    expect(leases.metricWrites()).toEqual({
      type: "firestore.googleapis.com/document/write_ops_count",
      filter:
        'metric.type = "firestore.googleapis.com/document/write_ops_count" AND resource.type = "firestore.googleapis.com/Database" ' +
        'AND resource.labels.database_id = "leases"',
    });
    expect(leases.metricReads().type).toBe("firestore.googleapis.com/document/read_ops_count");
    expect(leases.metricExpirations().type).toBe("firestore.googleapis.com/document/ttl_deletion_count");
  });
});
