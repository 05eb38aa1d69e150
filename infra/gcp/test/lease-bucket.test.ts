import { readFile } from "node:fs/promises";
import { ObjectStorageLeaseStore } from "@leasehold/object-storage";
import { BUCKET, startObjectServer } from "@leasehold/test-kit/object-server/server";
import { compete, objectClient } from "@leasehold/test-kit/stores/objects";
import {
  comparableResources,
  findArgumentFaults,
  resourcesOfHcl,
  synthesizedFor,
  warningsOf,
  type Synthesized,
} from "@leasehold/test-kit/terrain";
import { Testing, type TerraformStack } from "cdktn";
import { describe, expect, test } from "vitest";
import { LeaseBucket, type LeaseBucketProps } from "@leasehold/infra-gcp";
import { googleWithBuckets } from "./google-facts.ts";
import { emptyStack } from "./synthesized.ts";

const ELECTION = "ü / *";
const MEMBER = { member: "serviceAccount:candidate@my-project.iam.gserviceaccount.com" };

function bucketIn(stack: TerraformStack, props: Partial<LeaseBucketProps> = {}): LeaseBucket {
  return new LeaseBucket(stack, "Leases", { project: "my-project", name: BUCKET, location: "europe-west1", ...props });
}

function synthesized(stack: TerraformStack): Synthesized {
  return synthesizedFor(stack, googleWithBuckets);
}

/** Returns whether a condition of the forms that `LeaseBucket` uses is true for a resource. @throws {Error} for another form. */
function holds(expression: string, resource: string): boolean {
  return expression.split(" || ").some((part) => {
    const [, equal, beginning] = /^resource\.name(?: == "([^"]+)"|\.startsWith\("([^"]+)"\))$/.exec(part) ?? [];
    if (equal === undefined && beginning === undefined) throw new Error(`A condition of another form: ${part}`);
    return equal === undefined ? resource.startsWith(beginning ?? "") : resource === equal;
  });
}

/** Runs work on a store. Returns a function that tells which of its requests bindings deny, and which permissions it needed. */
async function requestsOf(
  work: (store: ObjectStorageLeaseStore) => Promise<void>,
): Promise<readonly { readonly permission: string; readonly resource: string }[]> {
  await using server = await startObjectServer({ protocol: "gcs" });
  const requests: { permission: string; resource: string }[] = [];
  server.intercept = ({ method, target }) => {
    const { pathname } = new URL(target, "http://gcs");
    const name = decodeURIComponent(pathname.replace(/^(\/storage\/v1\/b)?\/leases\/?/, ""));
    const bucket = `projects/_/buckets/${BUCKET}`;
    if (!pathname.startsWith("/storage/v1")) {
      const permissions = method === "PUT" ? ["create", "delete"] : ["get", "list"];
      for (const each of permissions) {
        // The right to list decides between 403 and 404. It is asked for of the bucket.
        requests.push({
          permission: `storage.objects.${each}`,
          resource: each === "list" ? bucket : `${bucket}/objects/${name}`,
        });
      }
    } else requests.push({ permission: name === "o" ? "storage.objects.list" : "storage.buckets.get", resource: bucket });
    return undefined;
  };
  await work(new ObjectStorageLeaseStore({ client: objectClient("gcs", server.url), bucket: BUCKET }));
  return requests;
}

function granted(stack: TerraformStack): { readonly permissions: readonly string[]; readonly expressions: readonly string[] } {
  const { of } = synthesized(stack);
  return {
    permissions: of("google_project_iam_custom_role").flatMap((role) => role["permissions"] as string[]),
    expressions: of("google_storage_bucket_iam_member").map((each) => (each["condition"] as { expression: string }).expression),
  };
}

describe("grants", () => {
  test("of a candidate are what the store sends, and nothing else", async () => {
    const stack = emptyStack();
    bucketIn(stack).grantCandidate(MEMBER, ELECTION);
    const { permissions, expressions } = granted(stack);
    const requests = await requestsOf((store) => compete(store, ELECTION));
    expect(requests.filter(({ resource }) => !expressions.some((each) => holds(each, resource)))).toEqual([]);
    expect(new Set(requests.map(({ permission }) => permission))).toEqual(new Set(permissions));
  });

  test("cover no object of another election", async () => {
    const stack = emptyStack();
    bucketIn(stack).grantCandidate(MEMBER, "other");
    const { expressions } = granted(stack);
    const objects = (await requestsOf((store) => compete(store, ELECTION))).filter(({ resource }) => resource.includes("%C3%BC"));
    expect(objects.length).toBeGreaterThan(4);
    expect(objects.filter(({ resource }) => expressions.some((each) => holds(each, resource)))).toEqual([]);
  });

  test("of an observer are to read", () => {
    const stack = emptyStack();
    bucketIn(stack).grantObserver(MEMBER, ELECTION);
    const { permissions, expressions } = granted(stack);
    expect(permissions).toEqual(["storage.objects.get", "storage.objects.list"]);
    expect(expressions.join()).not.toContain(".probe");
  });

  test("have a condition of at most 12 operators for each election", () => {
    const stack = emptyStack();
    bucketIn(stack).grantCandidate(MEMBER, "billing", "report", ELECTION);
    const { expressions } = granted(stack);
    expect(expressions).toHaveLength(3);
    for (const each of expressions) expect(each.split("||").length).toBeLessThan(13);
  });

  test("need one to twenty elections, and are given once", () => {
    const leases = bucketIn(emptyStack());
    expect(() => leases.grantCandidate(MEMBER)).toThrow("names no election");
    expect(() => leases.grantCandidate(MEMBER, ...Array.from({ length: 21 }, (_, index) => `e${index}`))).toThrow("at most 20");
    leases.grantCandidate(MEMBER, "billing");
    expect(() => leases.grantCandidate(MEMBER, "billing")).toThrow("called twice for 'billing'");
  });
});

describe("the bucket", () => {
  test("is private, kept, and without versions, soft delete and rules", () => {
    const stack = emptyStack();
    expect(bucketIn(stack).url).toBe("gs://leases/leasehold/");
    const [bucket] = synthesized(stack).of("google_storage_bucket");
    expect(bucket).toMatchObject({
      uniform_bucket_level_access: true,
      public_access_prevention: "enforced",
      versioning: { enabled: false },
      soft_delete_policy: { retention_duration_seconds: 0 },
      lifecycle: { prevent_destroy: true },
    });
    expect(bucket).not.toHaveProperty("lifecycle_rule");
    expect(warningsOf(stack)).toEqual([]);
  });

  test("deletes occurrences if asked, and never a lease", () => {
    const stack = emptyStack();
    bucketIn(stack, { deleteOccurrencesAfterDays: 8 });
    expect(synthesized(stack).of("google_storage_bucket")).toMatchObject([
      { lifecycle_rule: [{ action: { type: "Delete" }, condition: { age: 8, matches_prefix: ["leasehold/ticks/"] } }] },
    ]);
  });

  test.each(["EU", "eur4", "asia1"])("is not in the location %s, which has several regions", (location) => {
    expect(() => bucketIn(emptyStack(), { location })).toThrow("it must be one region");
  });

  test.each(["ab", "A".repeat(9), "a".repeat(41), "google.com"])("is not called %s", (name) => {
    expect(() => bucketIn(emptyStack(), { name })).toThrow("3 to 40");
  });
});

describe("the Terraform module of a bucket", async () => {
  const module = resourcesOfHcl(await readFile(new URL("../terraform/bucket/main.tf", import.meta.url), "utf8"));

  test("makes the same resources as the construct, with the same settings", () => {
    const stack = emptyStack();
    bucketIn(stack, { name: "my-leases" }).grantCandidate(MEMBER, "billing");
    const { resource } = JSON.parse(Testing.synth(stack)) as { resource: typeof module };
    const given = JSON.parse(
      JSON.stringify(module)
        .replace('${replace(var.name, \\"-\\", \\"_\\")}', "my_leases")
        .replaceAll("${var.project}", "my-project")
        .replaceAll("${var.location}", "europe-west1")
        .replaceAll("${var.name}", "my-leases")
        .replaceAll("${each.value.member}", MEMBER.member)
        .replaceAll("${each.value.election}", "billing"),
    ) as typeof module;
    expect(comparableResources(given)).toEqual(comparableResources(resource));
  });

  test("has no argument that the provider would refuse", () => {
    const faults = findArgumentFaults({ resource: module }, googleWithBuckets);
    expect(faults.filter((fault) => !fault.includes("no such variable") && !fault.startsWith("${each."))).toEqual([]);
  });
});
