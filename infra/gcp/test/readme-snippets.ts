/** The app of the README, compiled. Packaging synthesizes it where only the packed packages are. */
import { CandidateWorker, GoogleProvider, LeaseDatabase, synthesize } from "@leasehold/infra-gcp";
import { App, TerraformStack } from "cdktn";

const project = "my-project";
const location = "europe-west1";

const app = new App();
const stack = new TerraformStack(app, "leasehold");
new GoogleProvider(stack, "Google", { project, region: location });
const leases = new LeaseDatabase(stack, "Leases", { project, location });
const image = `${location}-docker.pkg.dev/${project}/leasehold/billing:1`;
new CandidateWorker(stack, "Billing", { leases, elections: ["billing"], name: "billing", location, image });
leases.grantObserver({ member: "group:dashboards@example.com" }, "billing");
synthesize(app);
