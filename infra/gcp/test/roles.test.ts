import { warningsOf } from "@leasehold/test-kit/terrain";
import type { TerraformStack } from "cdktn";
import { describe, expect, test } from "vitest";
import { LeaseDatabase } from "@leasehold/infra-gcp";
import { emptyStack, leasesIn, synthesized } from "./synthesized.ts";

const CANDIDATE = { member: "serviceAccount:candidate@my-project.iam.gserviceaccount.com" };
const OBSERVER = { member: "group:watch@example.com" };
const ADMINISTRATOR = { member: "user:admin@example.com" };
const READ = ["datastore.entities.get", "datastore.entities.list"];
const WRITE = ["datastore.databases.get", ...READ, "datastore.entities.create", "datastore.entities.update"];

/** Returns a member's permissions, by the resource name in the condition of each binding. */
function rights(stack: TerraformStack, { member }: { member: string }): Record<string, string[]> {
  const { of, resources } = synthesized(stack);
  const found: Record<string, string[]> = {};
  for (const binding of of("google_project_iam_member").filter((each) => each["member"] === member)) {
    const [, id = ""] = /^\$\{google_project_iam_custom_role\.([^.]+)\.id\}$/.exec(String(binding["role"])) ?? [];
    const { expression = "" } = binding["condition"] as { readonly expression?: string };
    const [, name] = /^resource\.name == "([^"\\]+)"$/.exec(expression) ?? [];
    if (!name) throw new Error(`A condition of another form: ${expression}`);
    found[name] = resources["google_project_iam_custom_role"]?.[id]?.["permissions"] as string[];
  }
  return found;
}

describe("grants", () => {
  test("are for one database, by roles of this package", () => {
    const stack = emptyStack();
    const leases = leasesIn(stack, { databaseId: "my-leases" });
    leases.grantCandidate(CANDIDATE, "billing");
    leases.grantObserver(OBSERVER, "billing");
    leases.grantAdministrator(ADMINISTRATOR);
    const name = "projects/my-project/databases/my-leases";
    expect(rights(stack, CANDIDATE)).toEqual({ [name]: WRITE });
    expect(rights(stack, OBSERVER)).toEqual({ [name]: READ });
    expect(rights(stack, ADMINISTRATOR)).toEqual({ [name]: WRITE });
    expect(rights(stack, { member: "user:stranger@example.com" })).toEqual({});
  });

  test("contain no right to delete, no wildcard, and no role of Google's", () => {
    const stack = emptyStack();
    const leases = leasesIn(stack);
    leases.grantCandidate(CANDIDATE, "billing");
    leases.grantObserver(OBSERVER, "billing");
    leases.grantAdministrator(ADMINISTRATOR);
    const { of } = synthesized(stack);
    const roles = of("google_project_iam_custom_role");
    expect(roles).toHaveLength(3);
    for (const { permissions, role_id: id } of roles) {
      expect(JSON.stringify(permissions)).not.toMatch(/\*|delete/i);
      expect(id).toMatch(/^[a-zA-Z0-9_.]{3,64}$/);
    }
    for (const binding of of("google_project_iam_member"))
      expect(binding["role"]).toMatch(/^\$\{google_project_iam_custom_role\./);
  });

  test("for two databases have two roles", () => {
    const stack = emptyStack();
    const other = new LeaseDatabase(stack, "Other", { project: "my-project", location: "eur3", databaseId: "other" });
    leasesIn(stack).grantCandidate(CANDIDATE, "billing");
    other.grantCandidate(CANDIDATE, "billing");
    expect(Object.keys(rights(stack, CANDIDATE)).toSorted()).toEqual([
      "projects/my-project/databases/leases",
      "projects/my-project/databases/other",
    ]);
    const ids = synthesized(stack)
      .of("google_project_iam_custom_role")
      .map((role) => String(role["role_id"]));
    expect(ids.toSorted()).toEqual(["lease_candidate_leases", "lease_candidate_other"]);
  });

  test("have a valid role id for the longest name of a database", () => {
    const stack = emptyStack();
    leasesIn(stack, { databaseId: "a".repeat(44) }).grantAdministrator(ADMINISTRATOR);
    expect(synthesized(stack).of("google_project_iam_custom_role")).toMatchObject([
      { role_id: expect.stringMatching(/^[a-z_]{64}$/) },
    ]);
  });

  test("can be for a workload identity of GKE", () => {
    const stack = emptyStack();
    const pool = "projects/1/locations/global/workloadIdentityPools/my-project.svc.id.goog";
    const pods = { member: `principal://iam.googleapis.com/${pool}/subject/ns/default/sa/billing` };
    leasesIn(stack).grantCandidate(pods, "billing");
    expect(rights(stack, pods)).toEqual({ "projects/my-project/databases/leases": WRITE });
  });

  test("need an election", () => {
    const leases = leasesIn(emptyStack());
    expect(() => leases.grantCandidate(CANDIDATE)).toThrow("grantCandidate names no election");
    expect(() => leases.grantObserver(OBSERVER)).toThrow("grantObserver names no election");
  });

  test("are limited to one for each member", () => {
    const leases = leasesIn(emptyStack());
    leases.grantCandidate(CANDIDATE, "billing");
    expect(() => leases.grantCandidate(CANDIDATE, "report")).toThrow("Name all elections in one call");
  });

  test("warn if IAM cannot separate two candidates", () => {
    const stack = emptyStack();
    const leases = leasesIn(stack);
    leases.grantCandidate(CANDIDATE, "billing", "report");
    leases.grantCandidate({ member: "user:twin@example.com" }, "report", "billing");
    expect(warningsOf(stack)).toEqual([]);
    leases.grantCandidate({ member: "user:other@example.com" }, "cleanup");
    expect(warningsOf(stack)).toEqual([expect.stringContaining("give them a LeaseDatabase each")]);
  });
});
