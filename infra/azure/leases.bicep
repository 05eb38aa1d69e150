// Leases of Leasehold in an Azure blob container, and the rights of its candidates. The tests compare the settings with the Terraform
// module beside it, and so with LeaseContainer of @leasehold/infra-azure. It was never compiled or applied.
type candidate = {
  principalId: string
  elections: string[]
}

@description('The storage account: 3 to 24 lower-case letters and digits, unique in the world')
param accountName string
param location string = resourceGroup().location
@description('The identities that compete, each once with all of its elections: letters, digits, hyphens and underscores')
param candidates candidate[]

var blobs = 'Microsoft.Storage/storageAccounts/blobServices/containers/blobs'
var path = '@Resource[${blobs}:path] ForAnyOfAnyValues'
// The blobs of the candidate's elections, their notes and their occurrences.
var conditions = [
  for each in candidates: join(
    [
      '((!(ActionMatches{\'${blobs}/read\'}) AND !(ActionMatches{\'${blobs}/write\'}))'
      ' OR (${path}:StringEquals {${join(map(each.elections, name => '\'${name}\', \'${name}.note\''), ', ')}}'
      ' OR ${path}:StringLike {${join(map(each.elections, name => '\'ticks/${name}/*\''), ', ')}}))'
    ],
    ''
  )
]

resource account 'Microsoft.Storage/storageAccounts@2023-05-01' = {
  name: accountName
  location: location
  kind: 'StorageV2'
  sku: { name: 'Standard_ZRS' }
  properties: {
    minimumTlsVersion: 'TLS1_2'
    allowSharedKeyAccess: false
    allowBlobPublicAccess: false
    isLocalUserEnabled: false
  }
  resource service 'blobServices' = {
    name: 'default'
    properties: {
      isVersioningEnabled: false
      deleteRetentionPolicy: { enabled: true, days: 7 }
      containerDeleteRetentionPolicy: { enabled: true, days: 7 }
    }
    resource leases 'containers' = { name: 'leases' }
  }
}

// A lease that is deleted begins again at term 1.
resource lock 'Microsoft.Authorization/locks@2020-05-01' = {
  name: 'keep-leases'
  scope: account
  properties: { level: 'CanNotDelete' }
}

resource role 'Microsoft.Authorization/roleDefinitions@2022-04-01' = {
  name: guid(account.id, 'Leasehold Candidate')
  properties: {
    roleName: 'Leasehold Candidate (${accountName})'
    description: 'Competes in elections: reads and writes lease blobs, deletes nothing.'
    type: 'CustomRole'
    assignableScopes: [resourceGroup().id]
    permissions: [{ actions: [], dataActions: ['${blobs}/read', '${blobs}/write'] }]
  }
}

resource assignments 'Microsoft.Authorization/roleAssignments@2022-04-01' = [
  for (each, index) in candidates: {
    name: guid(account::service::leases.id, each.principalId, role.id)
    scope: account::service::leases
    properties: {
      principalId: each.principalId
      principalType: 'ServicePrincipal'
      roleDefinitionId: role.id
      condition: conditions[index]
      conditionVersion: '2.0'
    }
  }
]
