/** The app of the README, compiled. Packaging synthesizes it where only the packed packages are. */
import { AzurermProvider, CandidateApp, LeaseContainer, synthesize } from "@leasehold/infra-azure";
import { App, TerraformStack } from "cdktn";

const app = new App();
const stack = new TerraformStack(app, "leasehold");
const subscription = "/subscriptions/00000000-0000-0000-0000-000000000000";
const group = `${subscription}/resourceGroups/leasehold`;
new AzurermProvider(stack, "Azure", { subscription_id: "00000000-0000-0000-0000-000000000000" });
const resourceGroup = { id: group, name: "leasehold", location: "westeurope" };
const leases = new LeaseContainer(stack, "Leases", { resourceGroup, accountName: "acmeleases" });
new CandidateApp(stack, "Billing", {
  leases,
  elections: ["billing"],
  resourceGroup,
  name: "billing",
  containerEnvironment: {
    id: `${group}/providers/Microsoft.App/managedEnvironments/leasehold`,
    workspaceId: `${group}/providers/Microsoft.OperationalInsights/workspaces/leasehold`,
  },
  image: "acmeimages.azurecr.io/leasehold:1",
  registry: {
    server: "acmeimages.azurecr.io",
    identityId: `${group}/providers/Microsoft.ManagedIdentity/userAssignedIdentities/leasehold-pull`,
  },
});
leases.grantObserver({ principalId: "00000000-0000-0000-0000-000000000000", principalType: "Group" }, "billing");
synthesize(app);
