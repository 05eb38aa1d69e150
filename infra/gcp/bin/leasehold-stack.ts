import { CandidateWorker, GoogleProvider, LeaderScheduledFunction, LeaseDatabase } from "@leasehold/infra-gcp";
import { LocalBackend, TerraformOutput, TerraformStack, TerraformVariable } from "cdktn";
import type { Construct } from "constructs";

/** All of it in one project: leases, two candidates that run all the time, and a function on a schedule with leases of its own. */
export class LeaseholdStack extends TerraformStack {
  constructor(scope: Construct, id: string) {
    super(scope, id);
    const variable = (name: string, description: string, otherwise?: string): string =>
      new TerraformVariable(this, name, { type: "string", description, default: otherwise }).stringValue;

    // Beside the app, and not in what is written anew at each synth.
    new LocalBackend(this, { path: "../../../leasehold.tfstate" });
    const project = variable("project", "The project's id");
    const location = variable("location", "A region of Firestore and Cloud Run", "europe-west1");
    new GoogleProvider(this, "Google", { project, region: location });

    // A database for each: IAM could not keep them apart in one.
    const billingLeases = new LeaseDatabase(this, "BillingLeases", { project, location, databaseId: "billing-leases" });
    const billing = new CandidateWorker(this, "Billing", {
      leases: billingLeases,
      elections: ["billing"],
      name: "billing",
      location,
      image: variable("billing_image", "The candidates' container image"),
    });
    const reportLeases = new LeaseDatabase(this, "ReportLeases", {
      project,
      location,
      databaseId: "report-leases",
      timeToLive: { collectionGroup: "ticks", field: "expiresAt" },
      backupRetentionDays: 7,
    });
    const report = new LeaderScheduledFunction(this, "NightlyReport", {
      leases: reportLeases,
      elections: ["nightly-report"],
      name: "nightly-report",
      location,
      image: variable("report_image", "The function's container image"),
      schedule: "0 3 * * *",
    });

    new TerraformOutput(this, "billing_account", { value: billing.serviceAccount.email });
    new TerraformOutput(this, "report_account", { value: report.serviceAccount.email });
  }
}
