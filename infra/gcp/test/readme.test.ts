import { readFile } from "node:fs/promises";
import { Testing } from "cdktn";
import { expect, test } from "vitest";
import { LeaseholdStack } from "../bin/leasehold-stack.ts";

/** The interface of each type of resource, by the beginning of the type. */
const INTERFACES = {
  google_firestore_: "firestore",
  google_cloud_run_: "run",
  google_cloud_scheduler_: "cloudscheduler",
  google_project_iam_custom_role: "iam",
  google_project_iam_member: "cloudresourcemanager",
  google_service_account: "iam",
  google_logging_: "logging",
  google_monitoring_: "monitoring",
};
/** The interfaces that build and keep the image. */
const FOR_IMAGES = ["artifactregistry", "cloudbuild"];

const readme = await readFile(new URL("../README.md", import.meta.url), "utf8");
const { resource, variable } = JSON.parse(Testing.synth(new LeaseholdStack(Testing.app(), "leasehold"), true)) as {
  readonly resource: Readonly<Record<string, unknown>>;
  readonly variable: Readonly<Record<string, { readonly default?: string }>>;
};

test("the README enables every interface that the stack needs, and no other", () => {
  const needed = Object.keys(resource).map((type) => {
    const [, name] = Object.entries(INTERFACES).find(([beginning]) => type.startsWith(beginning)) ?? [];
    return name ?? `the interface of ${type}`;
  });
  const [, enabled = ""] = /^gcloud services enable (.*)$/m.exec(readme) ?? [];
  const expected = new Set([...needed, ...FOR_IMAGES].map((name) => `${name}.googleapis.com`));
  expect(enabled.split(" ")).toEqual([...expected].toSorted());
});

test("the README sets every variable of the stack without a default", () => {
  const given = [...readme.matchAll(/ -var (\w+)=/g)].map(([, name]) => String(name));
  const needed = Object.entries(variable).filter(([, each]) => each.default === undefined);
  expect(given.toSorted()).toEqual(needed.map(([name]) => name).toSorted());
});
