// Skills: instructions in folders.
export { loadSkills } from '@provost/tools'
