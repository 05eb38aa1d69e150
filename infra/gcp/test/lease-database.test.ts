import { warningsOf } from "@leasehold/test-kit/terrain";
import { TerraformVariable } from "cdktn";
import { describe, expect, test } from "vitest";
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

  test("has no TTL policy by default", () => {
    const stack = emptyStack();
    leasesIn(stack);
    expect(synthesized(stack).of("google_firestore_field")).toEqual([]);
  });

  test("lets occurrences expire if asked", () => {
    const stack = emptyStack();
    leasesIn(stack, { expireOccurrences: true });
    expect(synthesized(stack).of("google_firestore_field")).toMatchObject([
      { collection: "ticks", field: "expiresAt", ttl_config: {}, index_config: {} },
    ]);
  });

  test.each([
    ["the default database", { databaseId: "(default)" }, "Give the leases a database of their own"],
    ["a name with capitals", { databaseId: "Leases" }, "databaseId"],
    ["a name that is too long for a role", { databaseId: "a".repeat(45) }, "4 to 44"],
    ["a name that ends with a hyphen", { databaseId: "leases-" }, "not end with a hyphen"],
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
});
