import {
  CandidateWorker,
  ElectionAlerts,
  GoogleProvider,
  LeaderScheduledFunction,
  LeaseDatabase,
  RunAlerts,
} from "@leasehold/infra-gcp";
import { LocalBackend, TerraformOutput, TerraformStack, TerraformVariable } from "cdktn";
import type { Construct } from "constructs";

/**
 * The whole setup in one project. It has two candidates that run all the time, a function on a schedule in two regions, and
 * alerts. One image contains their programs, from examples/google-cloud.
 */
export class LeaseholdStack extends TerraformStack {
  constructor(scope: Construct, id: string) {
    super(scope, id);
    const variable = (name: string, description: string, otherwise?: string): string =>
      new TerraformVariable(this, name, { type: "string", description, default: otherwise }).stringValue;

    // Keep the state beside the app, because each synth rewrites the output folder. A team keeps it in a bucket: new
    // GcsBackend(this, { bucket }).
    new LocalBackend(this, { path: "../../../leasehold.tfstate" });
    const project = variable("project", "The project's id");
    const location = variable("location", "A region of Firestore, Cloud Run and Cloud Scheduler", "europe-west1");
    const otherLocation = variable("other_location", "Another region of Cloud Run and Cloud Scheduler", "europe-west3");
    const image = variable("image", "The image of examples/google-cloud, by its digest");
    const channel = variable("notification_channel", "projects/<project>/notificationChannels/<number>");
    new GoogleProvider(this, "Google", { project, region: location });
    const alerts = { notificationChannels: [channel] };

    // Make a database for each, because IAM could not separate them in one.
    const billingLeases = new LeaseDatabase(this, "BillingLeases", { project, location, databaseId: "billing-leases" });
    const billing = new CandidateWorker(this, "Billing", {
      leases: billingLeases,
      elections: ["billing"],
      name: "billing",
      location,
      image,
    });
    new ElectionAlerts(this, "BillingAlerts", { worker: billing, election: "billing", ...alerts });

    // One schedule in two regions. One region does the work until it fails.
    const rateLeases = new LeaseDatabase(this, "RateLeases", {
      project,
      location,
      databaseId: "rate-leases",
      expireOccurrences: true,
    });
    const rates = (name: string, region: string, accountId: string): LeaderScheduledFunction =>
      new LeaderScheduledFunction(this, name, {
        leases: rateLeases,
        elections: ["exchange-rates"],
        name: "refresh-rates",
        accountId,
        location: region,
        image,
        command: [
          ...["node", "node_modules/.bin/functions-framework"],
          ...["--source=dist/refresh-rates.js", "--target=refreshRates"],
        ],
        schedule: "* * * * *",
        timeoutMs: 60_000,
        environment: { REGION: region },
      });
    const here = rates("Rates", location, "refresh-rates");
    const there = rates("RatesThere", otherLocation, "refresh-rates-there");
    new RunAlerts(this, "RatesAlerts", { of: here, notRunForHours: 1, ...alerts });
    new RunAlerts(this, "RatesThereAlerts", { of: there, notRunForHours: 1, ...alerts });

    new TerraformOutput(this, "billing_account", { value: billing.serviceAccount.email });
    new TerraformOutput(this, "rates_account", { value: here.serviceAccount.email });
  }
}
