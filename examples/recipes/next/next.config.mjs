// Next bundles provost as well. Left outside, it is loaded as it was installed, and builds are shorter.
export default { serverExternalPackages: ['provost'] }
