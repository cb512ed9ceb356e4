; The installer and the uninstaller, for one user and without rights of an administrator.
;
;   potluck-VERSION-windows.exe [/S] [/D=FOLDER]
;   uninstall.exe [/S] [/LINUX=remove] [/IDENTITY=forget]
;
; Silent, the uninstaller keeps the Linux system; with /LINUX=remove it removes it and keeps a copy of identity and
; earnings; with /IDENTITY=forget not even that. Exit codes: 0 done, 1 cancelled, 2 it could not be done.

Unicode true
Target amd64-unicode
Name "Potluck"
OutFile "${OUT}"
Icon "${ICON}"
UninstallIcon "${ICON}"
RequestExecutionLevel user
SetCompressor /SOLID lzma
InstallDir "$LOCALAPPDATA\Programs\Potluck"
InstallDirRegKey HKCU "Software\Potluck" "Folder"
BrandingText "Potluck ${VERSION} (experimental on Windows)"

!include FileFunc.nsh
!include LogicLib.nsh
!include MUI2.nsh
!include WinVer.nsh

!define RUN "Software\Microsoft\Windows\CurrentVersion\Run"
!define APPROVED "Software\Microsoft\Windows\CurrentVersion\Explorer\StartupApproved\Run"
!define ADDED "Software\Microsoft\Windows\CurrentVersion\Uninstall\Potluck"
!define LINK "Software\Classes\potluck" ; what opens potluck: links
!define DISTRIBUTIONS "Software\Microsoft\Windows\CurrentVersion\Lxss"
!define LINUX '"$SYSDIR\wsl.exe" --distribution Potluck --user root --cd / --exec'

!define MUI_ICON "${ICON}"
!define MUI_UNICON "${ICON}"
!define MUI_WELCOMEPAGE_TEXT "Potluck lends this computer's GPU to run large language models together with others.$\r$\n$\r$\n\
It installs for you alone. The daemon runs in a Linux of its own in WSL2, which the app sets up when you say so. \
Nothing starts by itself when you log in, unless you switch that on.$\r$\n$\r$\n\
On Windows this is experimental."
!define MUI_FINISHPAGE_RUN "$INSTDIR\Potluck.exe"
!define MUI_FINISHPAGE_RUN_TEXT "Start Potluck"
!insertmacro MUI_PAGE_WELCOME
!insertmacro MUI_PAGE_DIRECTORY
!insertmacro MUI_PAGE_INSTFILES
!insertmacro MUI_PAGE_FINISH
!insertmacro MUI_UNPAGE_CONFIRM
UninstPage custom un.AskAboutLinux un.HearAboutLinux
!insertmacro MUI_UNPAGE_INSTFILES
!insertmacro MUI_LANGUAGE "English"

Var RemovesLinux ; 1: with its models
Var KeepsIdentity ; 1: in a file, and the earnings with it
Var LinuxBox
Var IdentityBox

; A program that runs cannot be written to. Nothing is changed before this is known.
!macro WaitForEnd un
Function ${un}WaitForEnd
  again:
  StrCpy $2 0
  FindFirst $0 $1 "$INSTDIR\python\*"
  ${DoWhile} $1 != ""
    ${If} ${FileExists} "$INSTDIR\python\$1\pythonw.exe"
      ClearErrors
      FileOpen $3 "$INSTDIR\python\$1\pythonw.exe" a
      ${If} ${Errors}
        StrCpy $2 1
      ${Else}
        FileClose $3
      ${EndIf}
    ${EndIf}
    FindNext $0 $1
  ${Loop}
  FindClose $0
  ${If} $2 == 1
    MessageBox MB_RETRYCANCEL|MB_ICONEXCLAMATION "Potluck runs. Quit it in the tray first." /SD IDCANCEL IDRETRY again
    SetErrorLevel 2
    Quit
  ${EndIf}
FunctionEnd
!macroend
!insertmacro WaitForEnd ""
!insertmacro WaitForEnd "un."

; What an installation consists of, and nothing else: the folder may be one that holds other things.
!macro RemoveFiles
  RMDir /r "$INSTDIR\app"
  RMDir /r "$INSTDIR\bin"
  RMDir /r "$INSTDIR\linux"
  Delete "$INSTDIR\Potluck.exe"
  Delete "$INSTDIR\potluck.ico"
  Delete "$INSTDIR\uninstall.exe"
!macroend

Function .onInit
  ${IfNot} ${AtLeastWin10}
    MessageBox MB_ICONSTOP "Potluck needs Windows 10 or 11." /SD IDOK
    SetErrorLevel 2
    Quit
  ${EndIf}
FunctionEnd

Section
  Call WaitForEnd
  !insertmacro RemoveFiles ; of the version before; Python and everything of the user's stay
  ClearErrors
  !include "${FILES}"
  SetOutPath "$INSTDIR"
  WriteUninstaller "$INSTDIR\uninstall.exe"
  CreateShortcut "$SMPROGRAMS\Potluck.lnk" "$INSTDIR\Potluck.exe" "" "$INSTDIR\potluck.ico"
  WriteRegStr HKCU "Software\Potluck" "Folder" "$INSTDIR"
  WriteRegStr HKCU "${LINK}" "" "URL:Potluck"
  WriteRegStr HKCU "${LINK}" "URL Protocol" ""
  WriteRegStr HKCU "${LINK}\shell\open\command" "" '"$INSTDIR\Potluck.exe" "%1"'
  WriteRegStr HKCU "${ADDED}" "DisplayName" "Potluck"
  WriteRegStr HKCU "${ADDED}" "DisplayVersion" "${VERSION}"
  WriteRegStr HKCU "${ADDED}" "DisplayIcon" "$INSTDIR\potluck.ico"
  WriteRegStr HKCU "${ADDED}" "Publisher" "Potluck"
  WriteRegStr HKCU "${ADDED}" "InstallLocation" "$INSTDIR"
  WriteRegStr HKCU "${ADDED}" "UninstallString" '"$INSTDIR\uninstall.exe"'
  WriteRegStr HKCU "${ADDED}" "QuietUninstallString" '"$INSTDIR\uninstall.exe" /S'
  WriteRegDWORD HKCU "${ADDED}" "EstimatedSize" ${SIZE_KB}
  WriteRegDWORD HKCU "${ADDED}" "NoModify" 1
  WriteRegDWORD HKCU "${ADDED}" "NoRepair" 1
  ${If} ${Errors}
    MessageBox MB_ICONSTOP "Not everything could be written. Is the disk full?" /SD IDOK
    SetErrorLevel 2
    Quit
  ${EndIf}
SectionEnd

Function un.onInit
  ${GetParameters} $0
  StrCpy $RemovesLinux 0
  StrCpy $KeepsIdentity 1
  ${GetOptions} $0 "/LINUX=" $1
  ${If} $1 == "remove"
    StrCpy $RemovesLinux 1
  ${EndIf}
  ${GetOptions} $0 "/IDENTITY=" $1
  ${If} $1 == "forget"
    StrCpy $KeepsIdentity 0
  ${EndIf}
FunctionEnd

; $0: 1 if our distribution is registered, 0 if not. Names of others are only compared.
Function un.FindLinux
  StrCpy $0 0
  StrCpy $1 0
  ${Do}
    EnumRegKey $2 HKCU "${DISTRIBUTIONS}" $1
    ${If} $2 == ""
      ${Break}
    ${EndIf}
    ReadRegStr $3 HKCU "${DISTRIBUTIONS}\$2" "DistributionName"
    ${If} $3 == "Potluck"
      StrCpy $0 1
    ${EndIf}
    IntOp $1 $1 + 1
  ${Loop}
FunctionEnd

Function un.AskAboutLinux
  Call un.FindLinux
  ${If} $0 == 0
    Abort ; skips the page
  ${EndIf}
  !insertmacro MUI_HEADER_TEXT "Potluck's Linux system" "It holds models, your identity in swarms, and what you earned."
  nsDialogs::Create 1018
  Pop $0
  ${NSD_CreateCheckbox} 0 0 100% 24u "Remove it, with all models that it holds"
  Pop $LinuxBox
  ${NSD_CreateCheckbox} 0 28u 100% 24u "Keep a copy of identity and earnings in my documents"
  Pop $IdentityBox
  ${NSD_Check} $IdentityBox
  ${NSD_CreateLabel} 0 60u 100% 36u "Not removed, it can be used by a later installation. No other Linux system is touched."
  Pop $0
  nsDialogs::Show
FunctionEnd

Function un.HearAboutLinux
  ${NSD_GetState} $LinuxBox $RemovesLinux
  ${NSD_GetState} $IdentityBox $KeepsIdentity
FunctionEnd

Function un.RemoveLinux
  Call un.FindLinux
  ${If} $0 == 0
  ${OrIf} $RemovesLinux != 1
    Return
  ${EndIf}
  nsExec::ExecToLog '${LINUX} systemctl stop potluckd.service'
  Pop $0
  ${If} $KeepsIdentity == 1
    StrCpy $1 "$DOCUMENTS\Potluck identity and earnings.tar.gz"
    nsExec::ExecToLog '"$SYSDIR\cmd.exe" /d /c "${LINUX} tar -C /var/lib -czf - --exclude=potluck/engines potluck >"$1""'
    Pop $0
    ${If} $0 != 0
      Delete "$1"
      MessageBox MB_ICONEXCLAMATION "Identity and earnings could not be copied ($0), so the Linux system stays. \
        Remove it by hand with: wsl --unregister Potluck" /SD IDOK
      SetErrorLevel 2
      Return
    ${EndIf}
  ${EndIf}
  nsExec::ExecToLog '"$SYSDIR\wsl.exe" --unregister Potluck'
  Pop $0
  ${If} $0 != 0
    MessageBox MB_ICONEXCLAMATION "The Linux system could not be removed ($0). By hand: wsl --unregister Potluck" /SD IDOK
    SetErrorLevel 2
    Return
  ${EndIf}
  RMDir "$LOCALAPPDATA\Potluck\linux" ; WSL has removed the disk in it
FunctionEnd

Section Uninstall
  Call un.WaitForEnd
  Call un.RemoveLinux
  DeleteRegValue HKCU "${RUN}" "Potluck"
  DeleteRegValue HKCU "${APPROVED}" "Potluck"
  DeleteRegKey HKCU "${ADDED}"
  DeleteRegKey HKCU "Software\Potluck"
  DeleteRegKey HKCU "${LINK}"
  Delete "$SMPROGRAMS\Potluck.lnk"
  !insertmacro RemoveFiles
  RMDir /r "$INSTDIR\python"
  RMDir "$INSTDIR"
  RMDir /r "$APPDATA\potluck" ; what the app remembers of its window
  RMDir /r "$LOCALAPPDATA\Potluck\potluck" ; the app's locks
  RMDir "$LOCALAPPDATA\Potluck" ; unless the Linux system stays in it
SectionEnd
